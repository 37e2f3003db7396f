// What NCCL takes of a GPU beside what it is given, against the estimate of the memory plan. Prints both, for the pages
// in docs/gpu-results, of which h100-2026-11-26.md has them.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/nccl_communicator.h"
#include "src/comm/nccl_footprint.h"
#include "src/device/buffer.h"
#include "src/train/plan/nccl_variables.h"
#include "tests/nccl/one_gpu.h"

namespace octet::test {
namespace {

class NcclMemoryOnTheGpu : public testing::Test {
 protected:
  /// MiB of a rank since it was last asked, of all that share the GPU.
  double more() {
    gpu_stream_->synchronize();
    control_->barrier();
    const std::int64_t now = cuda_device(0).used_bytes();
    control_->barrier();
    return static_cast<double>(now - std::exchange(used_, now)) / 0x1p20 / control_->size();
  }
  void use(Communicator& group) {
    constexpr std::int64_t n = 16 << 20;
    Buffer one(cuda_device(0), 4 * n, Purpose::workspace);
    Buffer all(cuda_device(0), 4 * n * group.size(), Purpose::workspace);
    group.all_gather(one.data(), all.data(), n, DType::f32);
    group.reduce_scatter(all.as<float>(), one.as<float>(), n);
    group.all_reduce(one.data(), n, DType::f32, ReduceOp::sum);
    group.all_reduce(one.data(), 1, DType::f32, ReduceOp::sum);
    group.all_to_all(all.data(), one.data(), n / group.size(), DType::f32);
    gpu_stream_->synchronize();
  }

  std::unique_ptr<Stream> stream_ = cpu_device().make_stream(), gpu_stream_;
  std::unique_ptr<Communicator> control_ = make_mpi_communicator(*stream_, "control");
  std::int64_t used_ = 0;
};

/// Ranks that share a GPU are nodes of their own to NCCL, and speak through sockets.
TEST_F(NcclMemoryOnTheGpu, IsNoMoreThanPlanned) {
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  if (control_->size() == 1) GTEST_SKIP() << "a group of one needs no NCCL";
  share_one_gpu();
  gpu_stream_ = cuda_device(0).make_stream();
  const auto make = [&](const char* name) {
    return make_nccl_communicator(control_->split(0, control_->rank(), name), *gpu_stream_, {});
  };
  const auto first = make("first");  // loads NCCL's kernels, and fills the device's pool
  use(*first);
  more();
  const auto second = make("second");
  const double made = more();
  use(*second);
  const double connected = made + more();
  const auto planned = [&](const NcclTraffic& traffic) {
    return static_cast<double>(nccl_bytes(control_->size(), control_->size(), {}, traffic, nccl_variables())) / 0x1p20;
  };
  const double planned_made = planned({});
  const double planned_all = planned({.gathers = true, .reduces = true, .agrees = true, .exchanges = true});
  if (control_->rank() == 0) {
    std::printf(
        "NCCL's memory, %d ranks on one GPU, MiB a rank: %.1f when made (planned %.1f), %.1f when used "
        "(planned %.1f)\n",
        control_->size(), made, planned_made, connected, planned_all);
  }
  EXPECT_LE(made, planned_made);
  EXPECT_LE(connected, planned_all);
}

}  // namespace
}  // namespace octet::test
