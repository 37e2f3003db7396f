// What ranks tell each other with NCCL's messages, and what they do not. Each refusal has its example, and beside it
// the form that is right. On two ranks and more, of which the others do nothing.
#include <mpi.h>

#include "src/comm/nccl/nccl_api.h"
#include "tests/emulated/nccl_calls.h"
#include "tests/emulated/rules.h"

namespace octet::cuda {
namespace {

/// Two ranks, each with two streams that have a communicator each. A fault ends one device, of one rank.
class EmulatedMessages : public EmulatedRules {
 protected:
  void SetUp() override {
    EmulatedRules::SetUp();
    rank = emulated::world_rank();
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    takes_part = ranks > 1 && rank <= 1;
    if (!takes_part) GTEST_SKIP() << "of the first two ranks";
    cudaStreamCreateWithPriority(&other, cudaStreamNonBlocking, 0);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    for (ncclComm_t* comm : {&first, &second}) {
      ncclUniqueId id{};
      if (rank == 0) nccl.get_unique_id(&id);
      tell(&id, sizeof id);
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      ASSERT_EQ(nccl.comm_init_rank_config(comm, 2, id, rank, &config), ncclSuccess);
    }
    ended_before = std::exchange(emulated::Device::get().on_fault, nullptr);
  }
  void TearDown() override {
    if (takes_part) {
      nccl.comm_destroy(first);
      nccl.comm_destroy(second);
      cudaStreamDestroy(other);
      cudaEventDestroy(event);
      emulated::Device::get().on_fault = ended_before;
    }
    EmulatedRules::TearDown();
  }
  /// From rank 0 to rank 1.
  void tell(void* data, int bytes) const {
    if (rank == 0) MPI_Send(data, bytes, MPI_BYTE, 1, 9, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(data, bytes, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  void send(int from, ncclComm_t comm, cudaStream_t on) const {
    nccl.send(memory + from, 64, ncclUint8, 1 - rank, comm, on);
  }
  void receive(int to, ncclComm_t comm, cudaStream_t on) const {
    nccl.recv(memory + to, 64, ncclUint8, 1 - rank, comm, on);
  }
  void write(int to, cudaStream_t on) const { cudaMemsetAsync(memory + to, 0, 64, on); }
  /// `later` goes on behind what `earlier` was given.
  void order(cudaStream_t earlier, cudaStream_t later) const {
    cudaEventRecord(event, earlier);
    cudaStreamWaitEvent(later, event, 0);
  }
  /// What the streams' work ends with on `of`; on the other rank with nothing else.
  void expect(int of, const char* what) {
    ::testing::internal::CaptureStderr();
    cudaStreamSynchronize(stream);
    const cudaError_t status = cudaStreamSynchronize(other);
    const std::string text = ::testing::internal::GetCapturedStderr();
    const bool faultless = rank != of || what == nullptr;
    EXPECT_EQ(status, faultless ? cudaSuccess : cudaErrorLaunchFailure) << text;
    if (!faultless) EXPECT_TEXT(text, what);
  }

  const NcclApi& nccl = nccl_api();
  int rank = 0;
  bool takes_part = false;
  cudaStream_t other = nullptr;
  cudaEvent_t event = nullptr;
  ncclComm_t first = nullptr, second = nullptr;
  void (*ended_before)() = nullptr;
};

/// A pipeline's gradient, which comes into the place from which its activation left.
TEST_F(EmulatedMessages, AnAnswerIsBehindWhatItAnswers) {
  if (rank == 0) {
    write(0, stream);
    order(stream, other);
    send(0, first, other);
    receive(0, second, stream);
  } else {
    receive(0, first, other);
    order(other, stream);
    send(0, second, stream);
  }
  expect(0, nullptr);
}
TEST_F(EmulatedMessages, AMessageThatAnswersNothing) {
  if (rank == 0) {
    send(0, first, other);
    receive(0, second, stream);
  } else {
    receive(0, first, other);
    send(64, second, stream);  // behind nothing
  }
  expect(0, "ncclRecv (stream ");
}
TEST_F(EmulatedMessages, WhatIsSentHasBeenWritten) {
  if (rank == 0) {
    write(0, stream);
    send(0, first, other);
  } else {
    receive(0, first, other);
  }
  expect(0, "a race of streams: ncclSend");
}
TEST_F(EmulatedMessages, WhatWasReceivedIsThere) {
  if (rank == 0) {
    send(0, first, other);
  } else {
    receive(0, first, other);
    write(0, stream);
  }
  expect(1, "a race of streams: ");
}
/// A collective that is over here may go on there.
TEST_F(EmulatedMessages, ACollectiveIsNotOverEverywhere) {
  nccl.all_reduce(memory, memory, 16, ncclFloat32, ncclSum, first, stream);
  if (rank == 0) {
    order(stream, other);
    send(64, second, other);
  } else {
    receive(64, second, other);
    write(0, other);
  }
  expect(1, "ncclAllReduce");
}
TEST_F(EmulatedMessages, ACollectiveIsBehindWhatWasBeforeItEverywhere) {
  if (rank == 0) {
    receive(0, second, other);
    order(other, stream);
  } else {
    write(0, stream);
    order(stream, other);
    send(0, second, other);
  }
  nccl.all_reduce(memory + 128, memory + 128, 16, ncclFloat32, ncclSum, first, stream);
  if (rank == 1) write(0, stream);  // behind the collective, which is behind rank 0's receive, which is behind the send
  expect(1, nullptr);
}
TEST_F(EmulatedMessages, CallsOfAGroupAreDoneAtOnce) {
  nccl.group_start();
  send(0, first, stream);
  receive(rank == 0 ? 0 : 64, first, stream);
  nccl.group_end();
  expect(0, "two calls of a group");
}
/// The peer's answer says nothing of the group's other calls.
TEST_F(EmulatedMessages, AGroupIsNotOverWithOneOfItsCalls) {
  if (rank == 0) {
    nccl.group_start();
    send(0, first, stream);
    send(64, first, stream);
    nccl.group_end();
    receive(64, second, other);
  } else {
    nccl.group_start();
    receive(0, first, stream);
    receive(64, first, stream);
    nccl.group_end();
    order(stream, other);
    send(0, second, other);
  }
  expect(0, "ncclRecv (stream ");
}

}  // namespace
}  // namespace octet::cuda
