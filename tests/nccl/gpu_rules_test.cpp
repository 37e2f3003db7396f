// Rules of NCCL on a GPU, and those that the emulated one has in addition.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/nccl/nccl_api.h"
#include "src/comm/nccl_communicator.h"
#include "tests/nccl/one_gpu.h"
#include "tests/support/expect_has.h"

namespace octet::test {
namespace {

class NcclRules : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
    share_one_gpu();
    gpu_stream_ = cuda_device(0).make_stream();
  }

  std::unique_ptr<Stream> stream_ = cpu_device().make_stream(), gpu_stream_;
  std::unique_ptr<Communicator> control_ = make_mpi_communicator(*stream_, "control");
};

TEST_F(NcclRules, ALowerLimitNeedsAnUpperOne) {
  if (control_->size() == 1) GTEST_SKIP() << "a group of one needs no NCCL";
  ncclUniqueId id{};
  ASSERT_EQ(nccl_api().get_unique_id(&id), ncclSuccess);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.commName = "refused";
  config.minCTAs = 8;
  ncclComm_t comm = nullptr;
  EXPECT_EQ(nccl_api().comm_init_rank_config(&comm, control_->size(), id, control_->rank(), &config),
            ncclInvalidArgument);
  EXPECT_EQ(comm, nullptr);
  EXPECT_HAS(nccl_api().get_last_error(nullptr), "Invalid config min/max channels attribute value 8/-2147483648");
  const auto made =
      make_nccl_communicator(control_->split(0, control_->rank(), "tp"), *gpu_stream_, {.tp = {.min_ctas = 8}});
  EXPECT_EQ(made->size(), control_->size()) << "Octet gives both";
}

class EmulatedNcclRefuses : public NcclRules {
 protected:
  void SetUp() override {
    NcclRules::SetUp();
    if (!IsSkipped() && cuda_device(0).name() != "emulated device") GTEST_SKIP() << "NCCL itself does not refuse it";
  }
};

TEST_F(EmulatedNcclRefuses, ToFreeWhatIsRegistered) {
  const NcclApi& nccl = nccl_api();
  using Enter = std::function<ncclResult_t(void*, void**)>;
  const std::vector<std::pair<decltype(nccl.comm_deregister), Enter>> ways{
      {nccl.comm_deregister, [&](void* m, void** handle) { return nccl.comm_register(nullptr, m, 4096, handle); }},
      {nccl.comm_window_deregister,
       [&](void* m, void** handle) { return nccl.comm_window_register(nullptr, m, 4096, handle, 1); }}};
  for (const auto& [leave, enter] : ways) {
    void *memory = nullptr, *handle = nullptr;
    ASSERT_EQ(nccl.mem_alloc(&memory, 4096), ncclSuccess);
    EXPECT_EQ(enter(memory, &handle), ncclSuccess);
    EXPECT_EQ(nccl.mem_free(memory), ncclInvalidArgument);
    EXPECT_STREQ(nccl.get_last_error(nullptr), "memory is freed while it is registered");
    EXPECT_EQ(leave(nullptr, handle), ncclSuccess);
    EXPECT_EQ(leave(nullptr, handle), ncclInvalidArgument) << "a second time";
    EXPECT_EQ(nccl.mem_free(memory), ncclSuccess);
  }
}

/// MPI, which carries them there, counts with ints.
TEST_F(EmulatedNcclRefuses, MoreElementsThanAnInt) {
  const NcclApi& nccl = nccl_api();
  const std::size_t n = std::size_t{1} << 31;
  float x = 0;
  const std::vector<std::pair<const char*, ncclResult_t>> results{
      {"ncclAllGather", nccl.all_gather(&x, &x, n, ncclUint8, nullptr, nullptr)},
      {"ncclReduceScatter", nccl.reduce_scatter(&x, &x, n, ncclFloat32, ncclSum, nullptr, nullptr)},
      {"ncclAllReduce", nccl.all_reduce(&x, &x, n, ncclFloat32, ncclSum, nullptr, nullptr)},
      {"ncclBroadcast", nccl.broadcast(&x, &x, n, ncclUint8, 0, nullptr, nullptr)},
      {"ncclSend", nccl.send(&x, n, ncclUint8, 0, nullptr, nullptr)},
      {"ncclRecv", nccl.recv(&x, n, ncclUint8, 0, nullptr, nullptr)},
  };
  for (const auto& [call, result] : results) EXPECT_EQ(result, ncclInvalidArgument) << call;
  EXPECT_STREQ(nccl.get_last_error(nullptr),
               "ncclRecv of 2147483648 elements: the emulation carries 2147483647 at most");
}

}  // namespace
}  // namespace octet::test
