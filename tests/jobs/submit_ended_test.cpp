// octet submit that is ended by a signal while sbatch is at work.
#include <csignal>

#include "tests/jobs/submit_fixture.h"

namespace octet::test {
namespace {

/// What the test's own program does at a signal, which those that it starts inherit.
class Disposition {
 public:
  Disposition(int signal, void (*handler)(int)) : signal_(signal), before_(std::signal(signal, handler)) {}
  ~Disposition() { std::signal(signal_, before_); }
  Disposition(const Disposition&) = delete;
  Disposition& operator=(const Disposition&) = delete;

 private:
  int signal_;
  void (*before_)(int);
};

/// sbatch, where it is to queue a job, has octet submit get a signal, and takes its time. It has standard output twice,
/// so that a command is not over before sbatch is.
class SubmitEnded : public Submit {
 protected:
  void SetUp() override {
    Submit::SetUp();
    program("sbatch-of-slurm", fake_sbatch);
    program("sbatch",
            "#!/bin/bash\n"
            "if [[ $1 == --parsable ]]; then\n"
            "  kill -s \"$FAKE_SIGNAL\" $PPID\n"
            "  sleep \"$FAKE_SECONDS\"\n"
            "  touch \"$FAKE/late\"\n"
            "fi\n"
            "exec \"${0%/*}/sbatch-of-slurm\" \"$@\"\n");
  }
  CommandResult submit_at(int signal, int seconds) const {
    return submit_run("", fmt::format("FAKE_SIGNAL={} FAKE_SECONDS={} && exec 3>&1", signal, seconds));
  }
};

TEST_F(SubmitEnded, EndsSbatchToo) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const Disposition ends(signal, SIG_DFL);
    const CommandResult r = submit_at(signal, 20);
    EXPECT_EQ(r.exit_code, 128 + signal) << r.all();
    EXPECT_FALSE(std::filesystem::exists(fake / "late")) << "sbatch went on";
    expect_not_in("sbatch --parsable", read("calls"));
    expect_in("ended while sbatch was at work, which may have queued a job that is not noted: `squeue --me --name=",
              r.err);
  }
}

/// UCX takes SIGHUP for itself when it is loaded (UCX_DEBUG_SIGNO): where MPI comes with it, both go on to their end.
TEST_F(SubmitEnded, BothOrNeitherEndWithTheSession) {
  const Disposition ends(SIGHUP, SIG_DFL);
  const CommandResult r = submit_at(SIGHUP, 2);
  const bool went_on = r.exit_code == 0;
  EXPECT_TRUE(went_on || r.exit_code == 128 + SIGHUP) << r.all();
  EXPECT_EQ(std::filesystem::exists(fake / "late"), went_on);
  EXPECT_EQ(r.out.find("submitted 101") != std::string::npos, went_on) << r.all();
}

/// As under nohup.
TEST_F(SubmitEnded, ASignalThatIsIgnoredEndsNeither) {
  const Disposition ignored(SIGHUP, SIG_IGN);
  const CommandResult r = submit_at(SIGHUP, 0);
  EXPECT_EQ(r.exit_code, 0) << r.all();
  expect_in("submitted 101", r.out);
}

}  // namespace
}  // namespace octet::test
