#include "tests/nccl/one_gpu.h"

#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/nccl_settings.h"

namespace octet::test {

void share_one_gpu() {
  [[maybe_unused]] static const bool done = [] {
    const auto stream = cpu_device().make_stream();
    const auto node = make_mpi_communicator(*stream, "world")->split_by_node("node");
    separate_ranks("node", node->rank(), node->size() + 1);
    return true;
  }();
}

}  // namespace octet::test
