// When the emulated NCCL waits for the peers' hosts, and what it refuses while it does. On two ranks and more, of which
// the others do nothing.
#include <mpi.h>
#include <unistd.h>

#include "src/comm/nccl/nccl_api.h"
#include "tests/emulated/nccl_calls.h"
#include "tests/emulated/rules.h"

namespace octet::cuda {
namespace {

/// Two ranks with a communicator that does not block, as Octet's do not.
class EmulatedLaunches : public EmulatedRules {
 protected:
  void SetUp() override {
    EmulatedRules::SetUp();
    rank = emulated::world_rank();
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks == 1 || rank > 1) GTEST_SKIP() << "of the first two ranks";
    ncclUniqueId id{};
    if (rank == 0) nccl.get_unique_id(&id);
    tell(&id, sizeof id);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ASSERT_EQ(nccl.comm_init_rank_config(&comm, 2, id, rank, &config), ncclInProgress);
  }
  void TearDown() override {
    if (comm != nullptr) nccl.comm_destroy(comm);
    EmulatedRules::TearDown();
  }
  /// From rank 0 to rank 1.
  void tell(void* data, int bytes) const {
    if (rank == 0) MPI_Send(data, bytes, MPI_BYTE, 1, 9, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(data, bytes, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  /// Rank 1's host comes here no earlier than rank 0's.
  void after_rank_0() const {
    char nothing = 0;
    tell(&nothing, 1);
  }
  ncclResult_t send_or_receive() const {
    return rank == 0 ? nccl.send(memory, 64, ncclUint8, 1, comm, stream)
                     : nccl.recv(memory, 64, ncclUint8, 0, comm, stream);
  }
  ncclResult_t reduce(std::size_t count) const {
    return nccl.all_reduce(memory, memory, count, ncclFloat32, ncclSum, comm, stream);
  }
  ncclResult_t state() const {
    ncclResult_t state = ncclSuccess;
    nccl.comm_get_async_error(comm, &state);
    return state;
  }
  void expect_waiting() const {
    for (int i = 0; i < 100; ++i, usleep(100)) ASSERT_EQ(state(), ncclInProgress);
  }
  void wait_until_launched() const {
    while (state() == ncclInProgress) usleep(100);
    EXPECT_EQ(state(), ncclSuccess);
  }

  const NcclApi& nccl = nccl_api();
  int rank = 0;
  ncclComm_t comm = nullptr;
};

TEST_F(EmulatedLaunches, TheFirstMessageToAPeerWaitsForItsHost) {
  if (rank == 1) after_rank_0();
  EXPECT_EQ(send_or_receive(), ncclInProgress);
  if (rank == 0) {
    expect_waiting();
    after_rank_0();
  }
  wait_until_launched();
  EXPECT_EQ(send_or_receive(), ncclInProgress);  // as all that is launched is at first
  wait_until_launched();
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}
TEST_F(EmulatedLaunches, ASecondMessageToAPeerDoesNot) {
  EXPECT_EQ(send_or_receive(), ncclInProgress);
  wait_until_launched();
  if (rank == 1) after_rank_0();
  EXPECT_EQ(send_or_receive(), ncclInProgress);
  wait_until_launched();
  if (rank == 0) after_rank_0();
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}
/// For which NCCL may take another algorithm.
TEST_F(EmulatedLaunches, ACollectiveOfAnotherSizeWaitsAgain) {
  EXPECT_EQ(reduce(16), ncclInProgress);
  wait_until_launched();
  if (rank == 1) after_rank_0();
  EXPECT_EQ(reduce(16), ncclInProgress);
  wait_until_launched();
  EXPECT_EQ(reduce(1024), ncclInProgress);
  if (rank == 0) {
    expect_waiting();
    after_rank_0();
  }
  wait_until_launched();
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}
TEST_F(EmulatedLaunches, ACommunicatorInProgressIsNotUsed) {
  if (rank == 1) after_rank_0();
  EXPECT_EQ(send_or_receive(), ncclInProgress);
  if (rank == 0) {
    EXPECT_EQ(send_or_receive(), ncclInvalidArgument);
    EXPECT_TEXT(std::string(nccl.get_last_error(comm)), "before the previous operation returned ncclSuccess");
    EXPECT_EQ(nccl.comm_finalize(comm), ncclInvalidArgument);
    after_rank_0();
  }
  wait_until_launched();
  EXPECT_EQ(nccl.comm_finalize(comm), ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}
TEST_F(EmulatedLaunches, OneThatIsAbortedLaunchesNothing) {
  if (rank == 1) return;  // and never comes
  EXPECT_EQ(send_or_receive(), ncclInProgress);
  EXPECT_EQ(nccl.comm_abort(std::exchange(comm, nullptr)), ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

}  // namespace
}  // namespace octet::cuda
