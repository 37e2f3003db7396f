// What the stand-in refuses: without it, tests over it would pass where NCCL ends or hangs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/nccl/nccl_ids.h"
#include "tests/nccl/one_gpu.h"
#include "tests/nccl/stand_in_nccl.h"
#include "tests/support/expect_has.h"

namespace octet::test {
namespace {

class StandInRefuses : public testing::Test {
 protected:
  StandInRefuses() {
    stand_in() = {};
    share_one_gpu();
  }
  ~StandInRefuses() override {
    for (ncclComm_t comm : made_) nccl_.comm_abort(comm);
    for (char* memory : allocated_) std::free(memory);
    stand_in() = {};
  }

  /// As NCCL leaves it: its making is in progress.
  ncclComm_t make() {
    const std::vector<ncclUniqueId> ids = common_ids(nccl_, *control_);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.commName = "world";
    EXPECT_EQ(nccl_.comm_init_rank_config(&made_.emplace_back(), size_, ids.front(), rank_, &config), ncclInProgress);
    return made_.back();
  }
  ncclResult_t outcome(ncclComm_t comm) {
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress) nccl_.comm_get_async_error(comm, &state);
    return state;
  }
  ncclComm_t make_ready() {
    const ncclComm_t comm = make();
    EXPECT_EQ(outcome(comm), ncclSuccess);
    return comm;
  }
  char* allocate(std::size_t bytes) {
    void* memory = nullptr;
    EXPECT_EQ(nccl_.mem_alloc(&memory, bytes), ncclSuccess);
    return allocated_.emplace_back(static_cast<char*>(memory));
  }
  ncclResult_t window(ncclComm_t comm, char* memory, std::size_t bytes) {
    void* handle = nullptr;
    return nccl_.comm_window_register(comm, memory, bytes, &handle, NCCL_WIN_COLL_SYMMETRIC);
  }
  char* window_of(ncclComm_t comm, std::size_t bytes) {
    char* const memory = allocate(bytes);
    EXPECT_EQ(window(comm, memory, bytes), ncclInProgress);
    EXPECT_EQ(outcome(comm), ncclSuccess);
    return memory;
  }
  ncclResult_t sum(ncclComm_t comm, float& x) {
    return nccl_.all_reduce(&x, &x, 1, ncclFloat32, ncclSum, comm, nullptr);
  }
  /// It keeps to its error, and says why.
  void expect_refused(ncclComm_t comm, ncclResult_t result, const char* why) {
    EXPECT_EQ(result, ncclInvalidArgument);
    EXPECT_EQ(outcome(comm), ncclInvalidArgument);
    EXPECT_HAS(std::string(nccl_.get_last_error(comm)), why);
  }

  const NcclApi& nccl_ = stand_in_api();
  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> control_ = announced(make_mpi_communicator(*stream_, "control"));
  const int rank_ = control_->rank(), size_ = control_->size();
  std::vector<ncclComm_t> made_;
  std::vector<char*> allocated_;
};

TEST_F(StandInRefuses, SettingsThatNcclRefuses) {
  constexpr int unset = NCCL_CONFIG_UNDEF_INT;
  const std::vector<ncclUniqueId> ids = common_ids(nccl_, *control_);
  for (const auto& [least, most] : {std::pair{8, unset}, {9, 8}, {0, 8}, {unset, 0}, {-1, -1}}) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.commName = "world";
    config.minCTAs = least;
    config.maxCTAs = most;
    ncclComm_t comm = nullptr;
    EXPECT_EQ(nccl_.comm_init_rank_config(&comm, size_, ids.front(), rank_, &config), ncclInvalidArgument);
    EXPECT_EQ(comm, nullptr);
    EXPECT_EQ(nccl_.get_last_error(nullptr),
              fmt::format("Invalid config min/max channels attribute value {}/{}", least, most));
  }
}

TEST_F(StandInRefuses, CallsOfACommunicatorThatIsInProgress) {
  std::vector<float> from(static_cast<std::size_t>(size_)), to(from.size());
  float* const send = from.data();
  float* const recv = to.data();
  char* const memory = allocate(4096);
  void* handle = memory;
  const std::vector<std::function<ncclResult_t(ncclComm_t)>> calls{
      [&](ncclComm_t c) { return nccl_.all_gather(send, recv, 4, ncclUint8, c, nullptr); },
      [&](ncclComm_t c) { return nccl_.reduce_scatter(send, recv, 1, ncclFloat32, ncclSum, c, nullptr); },
      [&](ncclComm_t c) { return sum(c, *recv); },
      [&](ncclComm_t c) { return nccl_.broadcast(send, send, 1, ncclUint8, 0, c, nullptr); },
      [&](ncclComm_t c) { return nccl_.send(send, 1, ncclUint8, 0, c, nullptr); },
      [&](ncclComm_t c) { return nccl_.recv(recv, 1, ncclUint8, 0, c, nullptr); },
      [&](ncclComm_t c) { return nccl_.comm_register(c, memory, 4096, &handle); },
      [&](ncclComm_t c) { return nccl_.comm_deregister(c, handle); },
      [&](ncclComm_t c) { return window(c, memory, 4096); },
      [&](ncclComm_t c) { return nccl_.comm_window_deregister(c, handle); },
      [&](ncclComm_t c) { return nccl_.comm_finalize(c); },
      [&](ncclComm_t c) { return nccl_.comm_destroy(c); },
  };
  for (const auto& call : calls) {
    const ncclComm_t comm = make();
    expect_refused(comm, call(comm), "before the previous operation returned ncclSuccess");
  }
  float x = 1;
  EXPECT_EQ(sum(make_ready(), x), ncclInProgress);
  EXPECT_EQ(x, static_cast<float>(size_));
}

/// A group's calls are made together or not at all, those of other communicators too.
TEST_F(StandInRefuses, AGroupWithOneOfThem) {
  const ncclComm_t ready = make_ready(), busy = make();
  float x = 1, y = 1;
  EXPECT_EQ(nccl_.group_start(), ncclSuccess);
  EXPECT_EQ(sum(ready, x), ncclSuccess);
  const ncclResult_t refused = sum(busy, y);
  EXPECT_EQ(nccl_.group_end(), ncclInvalidArgument);
  expect_refused(busy, refused, "before the previous operation");
  EXPECT_EQ(outcome(ready), ncclInvalidArgument);
  EXPECT_EQ(x, 1);
  EXPECT_EQ(y, 1);
  float z = 1;
  EXPECT_EQ(sum(make_ready(), z), ncclInProgress) << "the next group is another";
}

TEST_F(StandInRefuses, MoreSendsAndReceivesThanAGroupGetsThrough) {
  const auto exchange = [&](ncclComm_t comm, int times) {
    float x = 1, y = 0;
    nccl_.group_start();
    for (int i = 0; i < times; ++i) {
      EXPECT_EQ(nccl_.send(&x, 4, ncclUint8, rank_, comm, nullptr), ncclSuccess);
      EXPECT_EQ(nccl_.recv(&y, 4, ncclUint8, rank_, comm, nullptr), ncclSuccess);
    }
    return nccl_.group_end();
  };
  EXPECT_EQ(exchange(make_ready(), 128), ncclInProgress);
  const ncclComm_t comm = make_ready();
  EXPECT_EQ(exchange(comm, 129), ncclInvalidUsage);
  EXPECT_EQ(outcome(comm), ncclInvalidUsage);
  EXPECT_EQ(stand_in().exchanges, (std::vector<std::size_t>{256, 258}));
}

TEST_F(StandInRefuses, ToFreeWhatIsRegistered) {
  const ncclComm_t comm = make_ready();
  void *memory = nullptr, *handle = nullptr;
  EXPECT_EQ(nccl_.mem_alloc(&memory, 4096), ncclSuccess);
  EXPECT_EQ(nccl_.comm_register(comm, memory, 4096, &handle), ncclInProgress);
  EXPECT_EQ(outcome(comm), ncclSuccess);
  EXPECT_EQ(nccl_.mem_free(memory), ncclInvalidUsage);
  EXPECT_STREQ(nccl_.get_last_error(comm), "memory is freed while it is registered");
  EXPECT_EQ(nccl_.comm_deregister(comm, handle), ncclSuccess);
  EXPECT_EQ(nccl_.mem_free(memory), ncclSuccess);
}

class StandInRefusesWindows : public StandInRefuses {
 protected:
  void SetUp() override {
    if (size_ == 1) GTEST_SKIP() << "one rank differs from no other";
  }
};

TEST_F(StandInRefusesWindows, ThatAreNotAligned) {
  const ncclComm_t comm = make_ready();
  expect_refused(comm, window(comm, allocate(8192) + 256, 4096), "suitably aligned");
}

TEST_F(StandInRefusesWindows, OfOtherSizes) {
  const ncclComm_t comm = make_ready();
  const std::size_t bytes = rank_ == 0 ? 4096 : 8192;
  expect_refused(comm, window(comm, allocate(bytes), bytes), "windows of other sizes");
}

TEST_F(StandInRefusesWindows, InAnotherOrder) {
  const ncclComm_t comm = make_ready();
  char *const first = allocate(4096), *const second = allocate(8192);
  expect_refused(comm, rank_ == 0 ? window(comm, second, 8192) : window(comm, first, 4096), "in another order");
}

TEST_F(StandInRefusesWindows, OfWhichTheRanksUseOtherPlaces) {
  const std::size_t n = 64, whole = n * static_cast<std::size_t>(size_), mine = n * static_cast<std::size_t>(rank_);
  const std::size_t here = rank_ == 0 ? 0 : 1024;
  const std::size_t bytes = 2048 + 4 * whole;
  std::vector<float> beside(whole);
  const auto gather = [&](ncclComm_t comm, const void* from, void* to) {
    return nccl_.all_gather(from, to, n, ncclUint8, comm, nullptr);
  };
  const auto scatter = [&](ncclComm_t comm, const void* from, void* to) {
    return nccl_.reduce_scatter(from, to, n, ncclFloat32, ncclSum, comm, nullptr);
  };
  const char* const why = "in other windows or at other places";
  const auto refused = [&](const auto& call) {
    const ncclComm_t comm = make_ready();
    char *const one = window_of(comm, bytes), *const other = window_of(comm, bytes);
    expect_refused(comm, call(comm, one, other), why);
  };
  refused([&](ncclComm_t c, char* one, char* other) { return gather(c, one, other + here); });
  refused([&](ncclComm_t c, char* one, char* other) { return gather(c, one + here, other); });
  refused([&](ncclComm_t c, char* one, char* other) { return gather(c, beside.data(), rank_ == 0 ? one : other); });
  refused([&](ncclComm_t c, char* one, char*) {
    return gather(c, beside.data(), rank_ == 0 ? static_cast<void*>(one) : beside.data());
  });
  refused([&](ncclComm_t c, char* one, char* other) { return scatter(c, one + here, other); });
  refused([&](ncclComm_t c, char* one, char* other) { return scatter(c, one, other + here); });
  refused([&](ncclComm_t c, char* one, char*) {
    auto* const x = reinterpret_cast<float*>(one + here);
    return nccl_.all_reduce(x, x, 1, ncclFloat32, ncclSum, c, nullptr);
  });

  const ncclComm_t comm = make_ready();
  char *const one = window_of(comm, bytes), *const other = window_of(comm, bytes);
  EXPECT_EQ(gather(comm, one + mine, one), ncclInProgress) << "in place";
  EXPECT_EQ(outcome(comm), ncclSuccess);
  EXPECT_EQ(gather(comm, one + 512, other + 1024), ncclInProgress);
  EXPECT_EQ(outcome(comm), ncclSuccess);
  EXPECT_EQ(scatter(comm, one, other), ncclInProgress);
}

}  // namespace
}  // namespace octet::test
