#include "src/owner/owner_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <latch>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "src/owner/lease.h"
#include "tests/data/support.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;
using test::write_bytes;

OwnerRecord somebody(const std::string& name) {
  OwnerRecord record = this_process();
  record.name = name;
  return record;
}

const Examine at_work = [](const OwnerRecord& owner, const std::string&) {
  return OwnerStanding{owner, owner.released ? OwnerState::released : OwnerState::at_work};
};
const Examine gone = [](const OwnerRecord& owner, const std::string&) {
  return OwnerStanding{owner, OwnerState::no_process};
};
/// Those whose names begin with "old" are gone.
const Examine old_is_gone = [](const OwnerRecord& owner, const std::string& file) {
  return (owner.name.starts_with("old") ? gone : at_work)(owner, file);
};

int entries(const std::string& folder) {
  return static_cast<int>(std::distance(fs::directory_iterator(folder), {}));
}

ExitCode code_of(const std::function<void()>& work, std::string* text = nullptr) {
  try {
    work();
  } catch (const Error& error) {
    if (text != nullptr) *text = error.what();
    return error.code();
  }
  return ExitCode::finished;
}

TEST(OwnerRecord, IsNoPipe) {
  const TempFolder folder;
  const std::string path = folder / "owner.json";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);  // to open it waits for who writes to it
  std::string text;
  EXPECT_EQ(code_of([&] { read_owner(folder.path()); }, &text), ExitCode::usage);
  EXPECT_EQ(text,
            "[owner] " + path + ": does not say who owns the run directory; remove it when no run is at work there");
}

TEST(OwnerRecord, ReadsBack) {
  OwnerRecord record = this_process();
  record.generation = 7;
  record.job = {.cluster = "c", .id = "12", .restart = 2, .launch = 3};
  std::string text = to_json(record);
  EXPECT_EQ(to_json(*parse_owner(text)), text);
  EXPECT_EQ(record.pid, getpid());
  EXPECT_FALSE(record.boot_id.empty() || record.pid_namespace.empty() || record.host.empty());
  EXPECT_EQ(record.name.find_first_of("./ "), std::string::npos) << record.name;
  EXPECT_NE(record.name, this_process().name);
  text.replace(text.find(unreleased_text), std::string(unreleased_text).size(), released_text);
  EXPECT_TRUE(parse_owner(text)->released);
  for (const char* damaged : {"", "{", "[]", "{}", "{\"name\": 3}"}) EXPECT_FALSE(parse_owner(damaged)) << damaged;
}

TEST(ClaimDirectory, OneAfterTheOther) {
  const TempFolder folder;
  const Claim first = claim_directory(folder.path(), somebody("a"), at_work);
  EXPECT_FALSE(first.before);
  EXPECT_EQ(first.mine.generation, 1);
  EXPECT_EQ(read_owner(folder.path())->name, "a");
  std::string text;
  EXPECT_EQ(code_of([&] { claim_directory(folder.path(), somebody("b"), at_work); }, &text), ExitCode::usage);
  for (const std::string& part :
       {std::to_string(getpid()), first.mine.host, first.mine.boot_id, first.mine.pid_namespace, folder.path()}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
  EXPECT_EQ(read_owner(folder.path())->name, "a");
  const Claim second = claim_directory(folder.path(), somebody("b"), gone);
  EXPECT_EQ(second.before->owner.name, "a");
  EXPECT_EQ(second.before->state, OwnerState::no_process);
  EXPECT_EQ(second.mine.generation, 2);
  EXPECT_EQ(read_owner(folder.path())->name, "b");
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(ClaimDirectory, OfSeveralAtOnceOneWins) {
  for (int round = 0; round < 30; ++round) {
    const TempFolder folder;
    if (round % 2 == 1) claim_directory(folder.path(), somebody("old"), gone);
    constexpr int many = 8;
    std::latch ready(many);
    std::atomic<int> won = 0, refused = 0;
    std::vector<std::thread> threads;
    threads.reserve(many);
    for (int i = 0; i < many; ++i) {
      threads.emplace_back([&, i] {
        ready.arrive_and_wait();
        const ExitCode code =
            code_of([&] { claim_directory(folder.path(), somebody(fmt::format("new-{}", i)), old_is_gone); });
        ++(code == ExitCode::finished ? won : refused);
        if (code != ExitCode::finished) {
          EXPECT_EQ(code, ExitCode::usage);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(won, 1);
    EXPECT_EQ(refused, many - 1);
    EXPECT_EQ(entries(folder.path()), 1) << "owner.json";
  }
}

TEST(ClaimDirectory, WhoComesLateDoesNotFollowAnOwnerThatWasFollowed) {
  const TempFolder folder;
  claim_directory(folder.path(), somebody("old"), gone);
  bool overtaken = false;
  // While this one is being asked about, another claims the directory, whole.
  const Examine slow = [&](const OwnerRecord& owner, const std::string& file) {
    if (!std::exchange(overtaken, true)) claim_directory(folder.path(), somebody("fast"), gone);
    return old_is_gone(owner, file);
  };
  EXPECT_EQ(code_of([&] { claim_directory(folder.path(), somebody("slow"), slow); }), ExitCode::usage);
  EXPECT_EQ(read_owner(folder.path())->name, "fast");
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(ClaimDirectory, AClaimWhoseMakerWasKilledIsFollowed) {
  const TempFolder folder;
  claim_directory(folder.path(), somebody("old"), gone);
  OwnerRecord killed = somebody("old-claimant");
  killed.generation = 2;
  write_bytes(folder / "owner.json.claim-2", to_json(killed));
  OwnerRecord other = somebody("claimant");
  other.generation = 3;
  write_bytes(folder / "owner.json.claim-3", to_json(other));
  EXPECT_EQ(code_of([&] { claim_directory(folder.path(), somebody("late"), old_is_gone); }), ExitCode::usage)
      << "another is about to";
  fs::remove(folder / "owner.json.claim-3");
  const Claim claim = claim_directory(folder.path(), somebody("new"), old_is_gone);
  EXPECT_EQ(claim.mine.generation, 3);
  EXPECT_EQ(read_owner(folder.path())->name, "new");
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(OwnerMark, EndsWith71WhereTheDirectoryIsAnothers) {
  const TempFolder folder;
  const Claim mine = claim_directory(folder.path(), somebody("mine"), at_work);
  const OwnerMark mark{.run_dir = folder.path(), .name = "mine"};
  mark.verify();
  EXPECT_TRUE(mark.holds());
  const Claim other = claim_directory(folder.path(), somebody("other"), gone);
  std::string text;
  EXPECT_EQ(code_of([&] { mark.verify(); }, &text), ExitCode::lost_peer);
  EXPECT_NE(text.find("another run's now: process"), std::string::npos) << text;
  EXPECT_FALSE(mark.holds());
  fs::remove(folder / "owner.json");
  EXPECT_TRUE(mark.holds()) << "nobody else's";
  write_bytes(folder / "owner.json", "half a rec");
  EXPECT_EQ(code_of([&] { mark.verify(); }), ExitCode::usage);
  EXPECT_FALSE(mark.holds());
  EXPECT_TRUE(OwnerMark{}.holds());
}

double time_of(const std::string& file) {
  struct stat info {};
  stat(file.c_str(), &info);
  return static_cast<double>(info.st_mtim.tv_sec) + 1e-9 * static_cast<double>(info.st_mtim.tv_nsec);
}

TEST(OwnerLease, RenewsUntilItIsReleased) {
  const TempFolder folder;
  {
    OwnerLease lease(folder.path(), 0.2);
    const double first = time_of(folder / "owner.json");
    for (int i = 0; i < 3000 && time_of(folder / "owner.json") == first; ++i) usleep(10'000);
    EXPECT_GT(time_of(folder / "owner.json"), first);
    EXPECT_EQ(code_of([&] { OwnerLease second(folder.path()); }), ExitCode::usage);
    lease.verify_if_late();
    lease.release();
    EXPECT_TRUE(read_owner(folder.path())->released);
    const OwnerLease second(folder.path());
    EXPECT_EQ(read_owner(folder.path())->name, second.mark().name);
    EXPECT_EQ(code_of([&] { lease.mark().verify(); }), ExitCode::lost_peer);
  }
  EXPECT_TRUE(read_owner(folder.path())->released);
}

TEST(OwnerLease, WhatOneThatWasFollowedDoesLeavesTheOthersFileAlone) {
  const TempFolder folder;
  OwnerLease late(folder.path(), 0.2);
  const Claim other = claim_directory(folder.path(), somebody("other"), gone);
  const double then = time_of(folder / "owner.json");
  usleep(100'000);  // several renewals
  late.release();
  EXPECT_EQ(time_of(folder / "owner.json"), then);
  EXPECT_FALSE(read_owner(folder.path())->released);
  EXPECT_EQ(read_owner(folder.path())->name, "other");
}

/// Its renewals go on when it wakes up, and must not make its own word count again.
TEST(OwnerLease, OfAProcessThatWasStoppedAndFollowedStaysLate) {
  const TempFolder folder;
  int up[2], down[2];
  ASSERT_EQ(::pipe(up) | ::pipe(down), 0);
  char c = 0;
  const pid_t child = ::fork();
  if (child == 0) {
    const OwnerLease lease(folder.path(), 0.2);
    if (::write(up[1], "x", 1) != 1 || ::read(down[0], &c, 1) != 1) ::_exit(1);
    ::_exit(static_cast<int>(code_of([&] { lease.verify_if_late(); })));
  }
  ASSERT_EQ(::read(up[0], &c, 1), 1);
  ::kill(child, SIGSTOP);
  usleep(100'000);  // past the age at which it is late
  const Claim other = claim_directory(folder.path(), somebody("other"), gone);
  ::kill(child, SIGCONT);
  usleep(100'000);  // several renewals
  ASSERT_EQ(::write(down[1], "x", 1), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(ExitCode::lost_peer));
  for (const int end : {up[0], up[1], down[0], down[1]}) ::close(end);
}

TEST(OwnerLease, RemovesADirectoryThatItMadeAndNobodyUsed) {
  const TempFolder folder;
  { const OwnerLease lease(folder / "a/b/"); }
  EXPECT_FALSE(fs::exists(folder / "a"));
  {
    const OwnerLease lease(folder / "a/b");
    write_bytes(folder / "a/b/config.yaml", "x: 1");
  }
  EXPECT_EQ(entries(folder / "a/b"), 2);
  fs::create_directory(folder / "empty");
  { const OwnerLease lease(folder / "empty"); }
  EXPECT_TRUE(fs::exists(folder / "empty")) << "somebody else made it";
  fs::create_directory_symlink("a", folder / "link");
  const OwnerLease lease(folder / "link/b");
  EXPECT_EQ(code_of([&] { OwnerLease second(folder / "a/b"); }), ExitCode::usage) << "the same directory";
}

}  // namespace
}  // namespace octet
