#include "jobs/ranks/gpu_together.h"

#include "src/comm/agreement.h"

namespace octet {

void use_gpu_together(Communicator& control, const std::function<void()>& work) {
  together_by_host("device", "cannot use the GPU (docs/problems.md, \"A GPU cannot be used on some hosts\")", control,
                   work);
}

}  // namespace octet
