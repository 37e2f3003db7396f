// The contract over the NCCL backend: on a stand-in for NCCL everywhere, on NCCL itself where there is a GPU.
#include "tests/comm/contract.h"
#include "tests/nccl/staged_communicator.h"
#include "tests/nccl/stand_in_nccl.h"

namespace octet {
namespace {

std::unique_ptr<Communicator> make_over_stand_in(Stream& stream) {
  return test::make_on_stand_in(stream);
}

std::unique_ptr<Communicator> make_split(Stream& stream) {
  const auto world = make_over_stand_in(stream);
  return world->split(0, -world->rank(), "reversed");
}

INSTANTIATE_TEST_SUITE_P(StandIn, Contract,
                         testing::Values(Backend{"nccl", make_over_stand_in}, Backend{"split", make_split}),
                         [](const auto& backend) { return backend.param.name; });

std::unique_ptr<Communicator> make_on_gpu(Stream& stream) {
  return test::make_staged(stream);
}

TEST(Gpu, RunsTheContract) {
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  EXPECT_EQ(make_on_gpu(*cpu_device().make_stream())->name(), "world");
}

std::vector<Backend> on_gpu() {
  if (!why_no_cuda().empty()) return {};
  return {{"nccl", make_on_gpu, false}};
}

INSTANTIATE_TEST_SUITE_P(Gpu, Contract, testing::ValuesIn(on_gpu()),
                         [](const auto& backend) { return backend.param.name; });

}  // namespace
}  // namespace octet
