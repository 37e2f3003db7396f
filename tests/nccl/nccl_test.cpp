// What the contract does not say: errors, ends, and what the watchdog is told.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "src/comm/in_flight.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/nccl/nccl_api.h"
#include "src/comm/nccl/nccl_group.h"
#include "src/comm/nccl/nccl_ids.h"
#include "src/comm/nccl_settings.h"
#include "src/comm/operation.h"
#include "src/comm/watchdog.h"
#include "src/device/buffer.h"
#include "src/profile/scopes.h"
#include "tests/nccl/one_gpu.h"
#include "tests/nccl/slow_device.h"
#include "tests/nccl/stand_in_nccl.h"
#include "tests/support/expect_has.h"
#include "tests/support/run_command.h"

namespace octet::test {
namespace {

class Nccl : public testing::Test {
 protected:
  Nccl() {
    stand_in() = {};
    comm_ = make_on_stand_in(*stream_);
    if (comm_->size() == 1) comm_.reset();
  }
  void SetUp() override {
    if (comm_ == nullptr) GTEST_SKIP() << "a group of one needs no NCCL";
  }

  std::string message_of(const std::function<void()>& work) {
    try {
      work();
    } catch (const Error& e) {
      code_ = e.code();
      return e.what();
    }
    return "nothing was thrown";
  }

  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> comm_;
  ExitCode code_ = ExitCode::usage;
};

/// MPI, which introduces the ranks, is on a CPU stream.
std::unique_ptr<Communicator> on_slow_stream(Stream& slow, const std::string& name) {
  static const auto cpu_stream = cpu_device().make_stream();
  share_one_gpu();
  return make_nccl_communicator(announced(make_mpi_communicator(*cpu_stream, name)), slow, {}, stand_in_api());
}

TEST_F(Nccl, IsDestroyedInAGoodEnd) {
  EXPECT_EQ(stand_in().alive, 1);
  auto part = comm_->split(0, comm_->rank(), "part");
  EXPECT_EQ(stand_in().alive, 2);
  part.reset();
  comm_.reset();
  EXPECT_EQ(stand_in().alive, 0);
  EXPECT_EQ(stand_in().destroyed, 2);
  EXPECT_EQ(stand_in().aborted, 0);
}

TEST_F(Nccl, SettingsAreThoseOfTheGroupsName) {
  const NcclSettings settings{.dp_shard = {.min_ctas = 2, .max_ctas = 8},
                              .dp_replicate = {.cta_policy = CtaPolicy::zero},
                              .tp = {.max_ctas = 16, .cta_policy = CtaPolicy::efficiency}};
  const auto world = make_on_stand_in(*stream_, settings);
  std::vector<std::unique_ptr<Communicator>> groups;
  for (const char* name : {"dp_shard", "dp_replicate", "tp"}) groups.push_back(world->split(0, world->rank(), name));
  const auto of = [](const char* name) -> const ncclConfig_t& { return stand_in().configs.at(name); };
  EXPECT_EQ(of("dp_shard").minCTAs, 2);
  EXPECT_EQ(of("dp_shard").maxCTAs, 8);
  EXPECT_EQ(of("dp_shard").CTAPolicy, NCCL_CONFIG_UNDEF_INT);
  EXPECT_EQ(of("dp_replicate").maxCTAs, NCCL_CONFIG_UNDEF_INT);
  EXPECT_EQ(of("dp_replicate").CTAPolicy, NCCL_CTA_POLICY_ZERO);
  EXPECT_EQ(of("tp").maxCTAs, 16);
  EXPECT_EQ(of("tp").CTAPolicy, NCCL_CTA_POLICY_EFFICIENCY);
  EXPECT_EQ(of("world").maxCTAs, NCCL_CONFIG_UNDEF_INT);
  EXPECT_EQ(of("world").minCTAs, NCCL_CONFIG_UNDEF_INT);
  stand_in().version = NCCL_VERSION(2, 27, 5);
  const std::string message = message_of([&] { world->split(0, world->rank(), "dp_replicate"); });
  EXPECT_NE(message.find("nccl.dp_replicate_cta_policy = zero: needs NCCL 2.28, found version 22705"),
            std::string::npos)
      << message;
}

/// NCCL refuses a lower limit without an upper one.
TEST_F(Nccl, ALowerLimitAloneHasTheUpperOneOfNccl) {
  const auto world = make_on_stand_in(*stream_, {.tp = {.min_ctas = 8}});
  EXPECT_EQ(message_of([&] { world->split(0, world->rank(), "tp"); }), "nothing was thrown");
  const ncclConfig_t& config = stand_in().configs.at("tp");
  EXPECT_EQ(config.minCTAs, 8);
  EXPECT_EQ(config.maxCTAs, 64);
}

/// There is no communicator then that could be asked.
TEST_F(Nccl, WhatItRefusesAtOnceHasItsReason) {
  const NcclSettings settings{.tp = {.min_ctas = 9, .max_ctas = 8}};
  const auto world = make_on_stand_in(*stream_, settings);
  const std::string refused = message_of([&] { world->split(0, world->rank(), "tp"); });
  EXPECT_HAS(refused, "ncclCommInitRankConfig in group tp");
  EXPECT_HAS(refused, "(Invalid config min/max channels attribute value 9/8)");
  EXPECT_EQ(code_, ExitCode::internal);
  stand_in().without_device = true;
  const auto alone = announced(make_self_communicator(*stream_, "alone"));
  const std::string no_id = message_of([&] { common_ids(stand_in_api(), *alone); });
  EXPECT_HAS(no_id, "ncclGetUniqueId: NCCL: ");
  EXPECT_HAS(no_id, "(Cuda failure 'no device')");
}

TEST_F(Nccl, MemoryIsTheDevicesUnlessBuffersAreRegistered) {
  EXPECT_EQ(&comm_->memory(), &cpu_device());
  for (const bool window : {false, true}) {
    const NcclSettings settings{.dp_shard = {.buffers = window ? NcclBuffers::symmetric : NcclBuffers::registered}};
    const auto world = make_on_stand_in(*stream_, settings);
    EXPECT_EQ(&world->memory(), &cpu_device());
    const auto shards = world->split(0, world->rank(), "dp_shard");
    EXPECT_FALSE(shards->memory().cheap());
    const std::int64_t before = cpu_device().ledger().usage(Purpose::gathered).now;
    {
      const Buffer buffer(shards->memory(), 1000, Purpose::gathered);
      const auto& known = stand_in().memory.at(buffer.as<char>());
      EXPECT_EQ(known.bytes, 1000);
      EXPECT_EQ(known.group, "dp_shard");
      EXPECT_EQ(known.window, window);
      EXPECT_EQ(cpu_device().ledger().usage(Purpose::gathered).now - before, 1000);
    }
    EXPECT_TRUE(stand_in().memory.empty());
    EXPECT_EQ(cpu_device().ledger().usage(Purpose::gathered).now, before);
  }
}

TEST_F(Nccl, MemoryThatCannotBeHadOrRegisteredIsNamed) {
  const NcclSettings settings{.dp_shard = {.buffers = NcclBuffers::symmetric}};
  const auto world = make_on_stand_in(*stream_, settings);
  const auto shards = world->split(0, world->rank(), "dp_shard");
  stand_in().out_of_memory = true;
  const std::string lacking = message_of([&] { shards->memory().allocate(1000); });
  EXPECT_HAS(lacking, "ncclMemAlloc of 1000 bytes in group dp_shard");
  EXPECT_HAS(lacking, "(Cuda failure 'out of memory')");
  EXPECT_EQ(code_, ExitCode::internal);
  stand_in().out_of_memory = false;
  stand_in().version = NCCL_VERSION(2, 26, 5);
  const std::string message = message_of([&] { world->split(0, world->rank(), "dp_shard"); });
  EXPECT_NE(message.find("nccl.dp_shard_buffers = symmetric: needs NCCL 2.27, found version 22605"), std::string::npos)
      << message;
  EXPECT_EQ(code_, ExitCode::usage);
}

/// As after a call that was given up at its deadline.
TEST_F(Nccl, ACallWaitsForWhatIsInProgress) {
  const auto shards = make_on_stand_in(*stream_, {.dp_shard = {.buffers = NcclBuffers::symmetric}}, "dp_shard");
  float x = 1, other = 1;
  const std::vector<std::function<void()>> calls{
      [&] { shards->all_reduce(&x, 1, DType::f32, ReduceOp::max); },
      [&] {
        shards->group_begin();
        shards->all_reduce(&x, 1, DType::f32, ReduceOp::max);
        shards->group_end();
      },
      [&] { const Buffer buffer(shards->memory(), 1000, Purpose::gathered); },
  };
  for (const auto& call : calls) {
    const ncclComm_t busy = stand_in().comms.at("dp_shard");
    EXPECT_EQ(stand_in_api().all_reduce(&other, &other, 1, ncclFloat32, ncclMax, busy, nullptr), ncclInProgress);
    EXPECT_EQ(message_of(call), "nothing was thrown");
  }
}

TEST_F(Nccl, AnErrorNamesOperationUnitAndGroupAndAborts) {
  float x = 1;
  comm_->all_reduce(&x, 1, DType::f32, ReduceOp::sum);
  stand_in().fails_with = ncclRemoteError;
  const UnitScope unit("layers.3");
  const std::string message = message_of([&] { comm_->all_reduce(&x, 1, DType::f32, ReduceOp::sum); });
  for (const char* part : {"all_reduce (sum) of 4 bytes in group world for unit layers.3", "remote process exited",
                           "socket closed", "another rank has ended"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  EXPECT_EQ(code_, ExitCode::lost_peer);
  EXPECT_NO_THROW(poll_in_flight()) << "it was told";
  comm_.reset();
  EXPECT_EQ(stand_in().aborted, 1);
}

/// As where /dev/shm is full: nobody is to look for it on other hosts alone.
TEST_F(Nccl, AnErrorOfTheSystemIsNotTakenForTheLossOfAnotherRank) {
  stand_in().fails_with = ncclSystemError;
  float x = 1;
  const std::string message = message_of([&] { comm_->all_reduce(&x, 1, DType::f32, ReduceOp::sum); });
  EXPECT_HAS(message, "; a call of the system failed on this host, or another rank cannot be reached");
  EXPECT_EQ(message.find("another rank has ended"), std::string::npos) << message;
  EXPECT_EQ(code_, ExitCode::lost_peer);
}

/// A wait for the device finds what the library reports, long before its deadline.
TEST_F(Nccl, AnErrorEndsAWaitForTheDevice) {
  const Watchdog watchdog({.start = 600, .step = 600});
  SlowDevice device;
  const auto slow = device.make_stream();
  const auto comm = on_slow_stream(*slow, "dp_shard");
  float x = 1;
  comm->all_reduce(&x, 1, DType::f32, ReduceOp::sum);
  stand_in().fails_with = ncclRemoteError;
  const OperationScope operation("wait for the device");
  const std::string message = message_of([&] { await(*device.make_event(), operation); });
  EXPECT_NE(message.find("NCCL: remote process exited"), std::string::npos) << message;
  EXPECT_EQ(code_, ExitCode::lost_peer);
}

/// The host does not run ahead of the device until it is stuck in a launch, where it would not see an error.
TEST_F(Nccl, TheHostIsAheadOfTheDeviceBySomeCallsAndThenSeesErrors) {
  const Watchdog watchdog({.start = 0.2, .step = 0.2}, 60);
  SlowDevice device;
  const auto slow = device.make_stream();
  const auto comm = on_slow_stream(*slow, "dp_shard");
  float x = 1;
  const auto call = [&] { comm->all_reduce(&x, 1, DType::f32, ReduceOp::max); };
  for (std::size_t i = 1; i < NcclGroup::most_ahead; ++i) call();
  const std::string late = message_of(call);
  EXPECT_NE(late.find("wait for the device, which is behind in group dp_shard has not completed"), std::string::npos)
      << late;
  device.done = true;
  call();
  device.done = false;
  for (std::size_t i = 2; i < NcclGroup::most_ahead; ++i) call();
  device.asked = [asked = 0]() mutable {
    if (++asked == 100) stand_in().fails_with = ncclRemoteError;
  };
  const std::string message = message_of(call);
  EXPECT_NE(message.find("NCCL: remote process exited"), std::string::npos) << message;
  EXPECT_EQ(code_, ExitCode::lost_peer);
}

/// ncclCommGetAsyncError frees what carried a call, so that one thread alone may ask.
TEST_F(Nccl, TheMainThreadAloneAsksAndEveryJobIsFreedOnce) {
  const Watchdog watchdog({.start = 600, .step = 600}, 0);
  SlowDevice device;
  device.done = true;
  const auto slow = device.make_stream();
  auto comm = on_slow_stream(*slow, "dp_shard");
  float x = 1;
  std::atomic<bool> over = false;
  std::thread onlooker([&] {
    while (!over) {
      operations_in_flight();
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 100; ++i) comm->all_reduce(&x, 1, DType::f32, ReduceOp::max);
  over = true;
  onlooker.join();
  comm.reset();
  comm_.reset();
  EXPECT_EQ(stand_in().asked_elsewhere, 0);
  EXPECT_GE(stand_in().jobs_made, 100);
  EXPECT_EQ(stand_in().jobs_freed, stand_in().jobs_made);
}

/// In a process of its own: events of which the record or the query never comes back.
TEST(BlockedDevice, AProcessEndsAllTheSame) {
  if (make_mpi_communicator(*cpu_device().make_stream(), "rank")->rank() > 0) GTEST_SKIP() << "rank 0 does it";
  for (const std::string what : {"record", "query"}) {
    const CommandResult r = run_command("exec " OCTET_BIN_DIR "/octet-nccl-alone " + what);
    EXPECT_FALSE(r.timed_out) << what;
    EXPECT_EQ(r.exit_code, 71) << what << r.all();
    EXPECT_NE(r.err.find("not done on the device: all_reduce (sum) of 4 bytes in group dp_shard"), std::string::npos)
        << r.err;
  }
}

TEST_F(Nccl, ACallThatStaysInProgressEndsAtTheDeadline) {
  const Watchdog watchdog({.start = 0.2, .step = 0.2, .checkpoint = 0.2}, 60);
  float x = 1;
  stand_in().never_ready = true;
  const std::string message = message_of([&] { comm_->all_reduce(&x, 1, DType::f32, ReduceOp::max); });
  EXPECT_NE(message.find("all_reduce (max) of 4 bytes in group world has not completed"), std::string::npos) << message;
  EXPECT_EQ(code_, ExitCode::lost_peer);
  stand_in().never_ready = false;
}

/// NCCL would say in its log that a call was wrong, beside the failure that people look for.
TEST_F(Nccl, WhatIsInProgressIsAbortedAndNotFinalized) {
  const Watchdog watchdog({.start = 0.2, .step = 0.2, .checkpoint = 0.2}, 60);
  stand_in().never_ready = true;
  EXPECT_HAS(message_of([&] { comm_->split(0, comm_->rank(), "part"); }),
             "ncclCommInitRankConfig in group part has not completed");
  EXPECT_EQ(stand_in().aborted, 1) << "in its constructor";
  float x = 1;
  EXPECT_HAS(message_of([&] { comm_->all_reduce(&x, 1, DType::f32, ReduceOp::max); }), "has not completed");
  comm_.reset();
  EXPECT_EQ(stand_in().aborted, 2);
  EXPECT_EQ(stand_in().finalized_too_early, 0);
  EXPECT_EQ(stand_in().alive, 0);
  stand_in().never_ready = false;
}

TEST_F(Nccl, AWrongCallIsABug) {
  stand_in().fails_with = ncclInvalidUsage;
  char x = 0;
  message_of([&] { comm_->broadcast(&x, 1, DType::u8, 0); });
  EXPECT_EQ(code_, ExitCode::internal);
}

TEST_F(Nccl, TheOldestOperationThatIsNotDoneIsNamed) {
  SlowDevice device;
  const auto slow = device.make_stream();
  const auto comm = on_slow_stream(*slow, "dp_shard");
  EXPECT_EQ(operations_in_flight(), "");
  std::vector<char> all(static_cast<std::size_t>(16 * comm->size()));
  {
    const UnitScope unit("layers.1");
    comm->all_gather(all.data() + 16 * comm->rank(), all.data(), 16, DType::e4m3);
  }
  float x = 1;
  comm->all_reduce(&x, 1, DType::f32, ReduceOp::sum);
  EXPECT_EQ(operations_in_flight(),
            fmt::format("all_gather of {} bytes in group dp_shard for unit layers.1", 16 * comm->size()));
  device.done = true;
  EXPECT_NE(operations_in_flight(), "") << "nobody has asked the device";
  poll_in_flight();
  EXPECT_EQ(operations_in_flight(), "");
}

/// NCCL launches the calls of all communicators where the last of its groups ends: not before are they in flight.
TEST_F(Nccl, GroupsWithinGroupsAreInFlightFromTheOutermostEnd) {
  SlowDevice device;
  const auto slow = device.make_stream();
  const auto outer = on_slow_stream(*slow, "dp_shard"), inner = on_slow_stream(*slow, "tp");
  const auto alone = make_self_communicator(*stream_, "self");
  float x = 1, y = 1, z = 1;
  alone->group_begin();  // of another backend
  outer->group_begin();
  inner->group_begin();
  inner->all_reduce(&x, 1, DType::f32, ReduceOp::sum);
  outer->all_reduce(&y, 1, DType::f32, ReduceOp::sum);
  inner->group_end();
  outer->group_end();
  inner->all_reduce(&z, 1, DType::f32, ReduceOp::max);
  EXPECT_EQ(operations_in_flight(), "");
  EXPECT_EQ(x, 1);
  alone->group_end();
  EXPECT_EQ(operations_in_flight(),
            "all_reduce (sum) of 4 bytes in group dp_shard; all_reduce (max) of 8 bytes in group tp");
  EXPECT_EQ(x, static_cast<float>(comm_->size()));
  device.done = true;
}

/// The process is given an NCCL_HOSTID as open_device does, and takes it back in the end.
class HostId : public Nccl {
 protected:
  void SetUp() override {
    Nccl::SetUp();
    if (IsSkipped()) return;
    if (void* const loaded = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD); loaded != nullptr) {
      dlclose(loaded);
      GTEST_SKIP() << "a test before this one has loaded NCCL";
    }
    forget_host_id();
  }
  void TearDown() override {
    forget_host_id();
    known_.empty() ? unsetenv("NCCL_HOSTID") : setenv("NCCL_HOSTID", known_.c_str(), 1);
  }
  std::string error_of_a_communicator() {
    return message_of([&] {
      make_nccl_communicator(announced(make_mpi_communicator(*stream_, "world")), *stream_, {}, stand_in_api());
    });
  }
  void set(const std::string& id) { setenv("NCCL_HOSTID", id.c_str(), 1); }

  const int rank_ = make_mpi_communicator(*stream_, "rank")->rank();
  const std::string known_ = std::getenv("NCCL_HOSTID") == nullptr ? "" : std::getenv("NCCL_HOSTID");
};

TEST_F(HostId, RanksOfOneHostDoNotShareAGpu) {
  unsetenv("NCCL_HOSTID");
  EXPECT_NE(error_of_a_communicator().find("Duplicate GPU detected : rank"), std::string::npos);
  EXPECT_EQ(code_, ExitCode::internal);
  forget_host_id();
  stand_in().gpu = rank_;
  EXPECT_EQ(error_of_a_communicator(), "nothing was thrown");
}

TEST_F(HostId, IsReadOnceInTheLifeOfAProcess) {
  unsetenv("NCCL_HOSTID");
  error_of_a_communicator();
  separate_ranks("node", rank_, 64);  // too late: nothing of this process can tell
  EXPECT_NE(error_of_a_communicator().find("Duplicate GPU detected"), std::string::npos);
  forget_host_id();
  EXPECT_EQ(error_of_a_communicator(), "nothing was thrown");
}

TEST_F(HostId, TellsApartTheRanksOfAGpuAlone) {
  for (int local = 0; local < 4; ++local) {
    separate_ranks("node-7", local, 2);
    EXPECT_STREQ(std::getenv("NCCL_HOSTID"), local % 2 == 0 ? "node-7.0" : "node-7.1");
  }
  unsetenv("NCCL_HOSTID");
  separate_ranks("node-7", 1, 1);
  EXPECT_EQ(std::getenv("NCCL_HOSTID"), nullptr) << "ranks with a GPU each are left alone";
}

/// The library that is loaded here has NCCL's name and nothing else.
TEST_F(HostId, IsRefusedOnceNcclIsLoaded) {
  set("another");
  void* const library = dlopen(OCTET_NCCL_BY_NAME, RTLD_LAZY);
  ASSERT_NE(library, nullptr) << dlerror();
  const std::string message = message_of([&] { separate_ranks("node", rank_, 64); });
  EXPECT_NE(message.find("NCCL is loaded and may have read NCCL_HOSTID = another: too late to set it to node."),
            std::string::npos)
      << message;
  set(fmt::format("node.{}", rank_));
  EXPECT_EQ(message_of([&] { separate_ranks("node", rank_, 64); }), "nothing was thrown") << "it is what it should be";
  dlclose(library);
}

}  // namespace
}  // namespace octet::test
