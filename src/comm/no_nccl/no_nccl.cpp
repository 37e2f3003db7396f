#include "src/base/error.h"
#include "src/comm/nccl_communicator.h"

namespace octet {

std::unique_ptr<Communicator> make_nccl_communicator(std::unique_ptr<Communicator> rendezvous, Stream&,
                                                     const NcclSettings&) {
  throw usage_error("comm",
                    "{} ranks on GPUs need NCCL, and this program was built without CUDA: build the preset cuda, or "
                    "use --device cpu (docs/problems.md, \"The program has no CUDA\")",
                    rendezvous->size());
}

int nccl_in_use() {
  return 0;
}

std::string nccl_version() {
  return {};
}

}  // namespace octet
