#include "src/owner/evidence.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "src/base/error.h"
#include "src/owner/lease.h"
#include "src/owner/owner_file.h"
#include "src/owner/process.h"
#include "tests/data/support.h"

namespace octet {
namespace {

using test::TempFolder;
using test::write_bytes;

/// A record of another process of this machine.
OwnerRecord record_of(pid_t pid) {
  OwnerRecord record = this_process();
  record.pid = pid;
  record.start_ticks = find_process(pid).value_or(ProcessTrace{}).start_ticks;
  record.job = {};
  return record;
}

class Evidence : public testing::Test {
 public:
  ~Evidence() override {
    setenv("PATH", path_.c_str(), 1);
    unsetenv("SLURM_CLUSTER_NAME");
  }

 protected:
  Evidence() { write_bytes(file_, "x"); }
  OwnerState state_of(const OwnerRecord& owner, double patience = 600) const {
    return examine(owner, file_, {}, patience).state;
  }
  /// What a stand-in for scontrol does; the tests' own programs come first.
  void scontrol(const std::string& text) const {
    write_bytes(folder_ / "bin/scontrol", "#!/bin/bash\n" + text);
    chmod((folder_ / "bin/scontrol").c_str(), 0755);
    setenv("PATH", fmt::format("{}/bin:{}", folder_.path(), path_).c_str(), 1);
  }

  TempFolder folder_;
  const std::string file_ = folder_ / "owner.json";
  const std::string path_ = std::getenv("PATH");
};

TEST_F(Evidence, OfAProcessOfThisBoot) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const OwnerRecord owner = record_of(child);
  EXPECT_GT(owner.start_ticks, 0);
  EXPECT_EQ(state_of(owner), OwnerState::at_work);
  OwnerRecord other = owner;
  other.start_ticks += 1;  // the pid was used again
  EXPECT_EQ(state_of(other), OwnerState::no_process);
  other = owner;
  other.boot_id = "another boot";  // nothing can be seen of it
  kill(child, SIGKILL);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);  // it stays a zombie
  EXPECT_EQ(state_of(owner), OwnerState::no_process);
  EXPECT_EQ(state_of(other), OwnerState::at_work);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(state_of(owner), OwnerState::no_process);
  EXPECT_EQ(state_of(other), OwnerState::at_work);
  other.boot_id = owner.boot_id;
  other.pid_namespace = "pid:[1]";
  EXPECT_EQ(state_of(other), OwnerState::at_work);
}

TEST_F(Evidence, OfTheFilesAge) {
  OwnerRecord owner = record_of(getpid());
  ASSERT_TRUE(age_by_file_server(file_));
  EXPECT_NEAR(*age_by_file_server(file_), 0, 60);
  const timespec then[2] = {{.tv_sec = time(nullptr) - 1000, .tv_nsec = 0},
                            {.tv_sec = time(nullptr) - 1000, .tv_nsec = 0}};
  utimensat(AT_FDCWD, file_.c_str(), then, 0);
  EXPECT_NEAR(*age_by_file_server(file_), 1000, 60);
  EXPECT_EQ(state_of(owner, 600), OwnerState::silent);
  EXPECT_EQ(state_of(owner, 2000), OwnerState::at_work);
  EXPECT_FALSE(age_by_file_server(folder_ / "nowhere/owner.json"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1) << "nothing stays there";
}

/// Renews a file's time by a clock that is an hour behind.
class LateClock {
 public:
  explicit LateClock(const std::string& file)
      : thread_([this, file] {
          for (std::int64_t n = 0; !stop_; ++n) {
            const timespec then{.tv_sec = time(nullptr) - 3600, .tv_nsec = n % 1'000'000'000};
            const timespec times[2] = {then, then};
            utimensat(AT_FDCWD, file.c_str(), times, 0);
            usleep(1000);
          }
        }) {}
  ~LateClock() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST_F(Evidence, AFileThatIsRenewedByAClockThatIsBehindIsRenewed) {
  int looks = 0;
  EXPECT_FALSE(is_renewed_within(file_, 0.1, [&] { ++looks; }));
  EXPECT_EQ(looks, 20);
  EXPECT_FALSE(is_renewed_within(folder_ / "nowhere/owner.json", 0.1));
  const LateClock renewing(file_);
  EXPECT_TRUE(is_renewed_within(file_, 60));
}

TEST_F(Evidence, OneWhoseClockIsBehindDoesNotLoseItsDirectory) {
  OwnerRecord owner = record_of(getpid());
  owner.boot_id = "another boot";  // nothing can be seen of it
  write_bytes(file_, to_json(owner));
  const auto claim = [&] { const OwnerLease lease(folder_.path(), 600); };
  {
    const LateClock renewing(file_);
    while (*age_by_file_server(file_) < 3000) usleep(1000);
    EXPECT_EQ(state_of(owner), OwnerState::silent);
    EXPECT_THROW(claim(), Error);
    EXPECT_EQ(read_owner(folder_.path())->name, owner.name);
  }
  const OwnerLease follower(folder_.path(), 1);
  EXPECT_EQ(read_owner(folder_.path())->name, follower.mark().name) << "that one is gone";
}

/// All GPUs of a start would wait for the minute.
TEST_F(Evidence, OneWhoseJobIsOverIsNotWatched) {
  OwnerRecord owner = record_of(getpid());
  owner.boot_id = "another boot";
  owner.job = {.cluster = "here", .id = "12"};
  write_bytes(file_, to_json(owner));
  const timespec then[2] = {{.tv_sec = time(nullptr) - 1000, .tv_nsec = 0},
                            {.tv_sec = time(nullptr) - 1000, .tv_nsec = 0}};
  utimensat(AT_FDCWD, file_.c_str(), then, 0);
  setenv("SLURM_CLUSTER_NAME", "here", 1);
  scontrol("echo '   JobState=FAILED Reason=None'");
  testing::internal::CaptureStderr();
  { const OwnerLease follower(folder_.path(), 600); }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("taken over from"), std::string::npos) << said;
  EXPECT_EQ(said.find("watched"), std::string::npos) << said;
}

TEST_F(Evidence, OfSlurm) {
  const JobLaunch job{.cluster = "here", .id = "12", .restart = 1, .launch = 1};
  setenv("SLURM_CLUSTER_NAME", "here", 1);
  const auto answers = [&](const char* text) {
    scontrol(text);
    return ask_slurm(job);
  };
  EXPECT_EQ(answers("echo '   JobState=RUNNING Reason=None'; echo '   Requeue=1 Restarts=1'"), false);
  EXPECT_EQ(answers("echo '   JobState=RUNNING Reason=None'; echo '   Requeue=1 Restarts=2'"), true);
  EXPECT_EQ(answers("echo '   JobState=COMPLETING Reason=None'; echo '   Requeue=1 Restarts=1'"), false);
  EXPECT_EQ(answers("echo '   JobState=FAILED Reason=None'; echo '   Requeue=1 Restarts=1'"), true);
  EXPECT_EQ(answers("echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"), true);
  EXPECT_EQ(answers("echo 'Unable to contact slurm controller' >&2; exit 1"), std::nullopt);
  EXPECT_EQ(answers("exit 0"), std::nullopt);
  EXPECT_EQ(answers("sleep 60"), std::nullopt) << "nobody waits for a controller that does not answer";

  setenv("SLURM_CLUSTER_NAME", "elsewhere", 1);
  EXPECT_EQ(answers("echo '   JobState=FAILED Reason=None'"), std::nullopt);
  unsetenv("SLURM_CLUSTER_NAME");
  const char* by_its_configuration =
      "[[ $2 == job ]] && echo '   JobState=FAILED Reason=None' || printf 'x = 1\\nClusterName             = here\\n'";
  EXPECT_EQ(answers(by_its_configuration), true);
  scontrol("[[ $2 == job ]] && echo '   JobState=FAILED Reason=None' || echo 'ClusterName = other'");
  EXPECT_EQ(ask_slurm(job), std::nullopt);

  // The record is of another machine, where nothing can be seen: Slurm decides.
  OwnerRecord owner = record_of(getpid());
  owner.boot_id = "another boot";
  owner.job = job;
  scontrol(by_its_configuration);
  EXPECT_EQ(state_of(owner), OwnerState::job_over);
  setenv("PATH", (folder_ / "nothing").c_str(), 1);
  EXPECT_EQ(state_of(owner), OwnerState::at_work);
}

/// The Slurm that answers may be another one than the job's: what it does not know may be at work.
TEST_F(Evidence, AJobThatSlurmDoesNotKnowIsOverOnlyWhereItsClusterIsNamed) {
  scontrol("echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
  setenv("SLURM_CLUSTER_NAME", "here", 1);
  EXPECT_EQ(ask_slurm({.cluster = "here", .id = "12"}), true);
  EXPECT_EQ(ask_slurm({.cluster = "", .id = "12"}), std::nullopt);
}

TEST_F(Evidence, OfADirectory) {
  std::filesystem::remove(file_);
  EXPECT_FALSE(ask_owner(folder_.path()));
  write_bytes(file_, to_json(record_of(getpid())));
  EXPECT_FALSE(ask_owner(folder_.path())->gone());
  write_bytes(file_, "{}");
  EXPECT_THROW(ask_owner(folder_.path()), Error);
}

TEST_F(Evidence, WhoToldTheJobOfAnOwnerThatIsGoneToEnd) {
  OwnerRecord owner = record_of(getpid());
  owner.job.id = "12";
  write_bytes(file_, to_json(owner));
  const std::string folder = folder_ / "job/12", note = folder + "/told-to-end";
  std::filesystem::create_directories(folder);
  write_bytes(note, "2026-11-28T18:03:22Z 1\n");
  EXPECT_EQ(ask_owner(folder_.path())->told, std::nullopt) << "it still lives";
  owner.start_ticks -= 1;
  write_bytes(file_, to_json(owner));
  EXPECT_EQ(ask_owner(folder_.path())->told, "job 12 was told to end (Slurm did not say why) at 2026-11-28T18:03:22Z");
  for (const auto& [shown, befell] : std::vector<std::pair<std::string, std::string>>{
           {"JobState=COMPLETING Restarts=1 RunTime=00:00:07 TimeLimit=00:30:00", "was cancelled"},
           {"JobState=COMPLETING Restarts=2 RunTime=00:00:07 TimeLimit=00:30:00", "was put back into the queue"},
           {"JobState=COMPLETING RunTime=00:30:02 TimeLimit=00:30:00", "reached its time limit"},
           {"JobState=COMPLETING Reason=TimeLimit RunTime=00:07:02 TimeLimit=00:30:00",
            "was ended at a limit of its time, account or reservation"},
           {"JobState=RUNNING PreemptTime=2026-11-28T18:03:20 Restarts=1", "was preempted"},
           {"JobState=NODE_FAIL Reason=NodeDown", "lost a node, and was ended by Slurm"}}) {
    write_bytes(note, "2026-11-28T18:03:22Z 1\nJobId=12 JobName=a\n   " + shown + "\n");
    EXPECT_EQ(ask_owner(folder_.path())->told, "job 12 " + befell + " at 2026-11-28T18:03:22Z");
  }
  write_bytes(note, "");  // on a full disk
  EXPECT_EQ(ask_owner(folder_.path())->told, "job 12 was told to end (Slurm did not say why)");
  owner.job.id = "../12";
  write_bytes(file_, to_json(owner));
  EXPECT_EQ(ask_owner(folder_.path())->told, std::nullopt);
}

}  // namespace
}  // namespace octet
