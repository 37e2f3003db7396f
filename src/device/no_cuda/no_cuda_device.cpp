#include "src/base/error.h"
#include "src/device/device.h"

namespace octet {

Device& cuda_device(int index) {
  throw usage_error("device", "cuda device {}: this build has no CUDA backend; use --device cpu", index);
}

}  // namespace octet
