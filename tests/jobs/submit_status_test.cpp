// octet submit status: how old what it says is, how long the rest of a run takes, and at which step a run ended.
#include <fmt/chrono.h>

#include <ctime>

#include "src/metrics/status.h"
#include "src/metrics/step_metrics.h"
#include "tests/jobs/submit_fixture.h"

namespace octet::test {
namespace {

/// A run that was started by hand.
class SubmitStatus : public Submit {
 protected:
  void SetUp() override {
    Submit::SetUp();
    std::filesystem::create_directories(file(""));
    write_status(file("status.json"), {.state = "running", .reason = "", .step = 0, .steps = 5000, .restarts = 1});
  }
  static StepMetrics step(std::int64_t number, std::int64_t restarts, double seconds) {
    StepMetrics m;
    m.step = number;
    m.loss = 2.5;
    m.step_seconds = seconds;
    m.data_seconds = 0.5;
    m.validation_seconds = m.checkpoint_stall_seconds = m.wait_seconds = 0.25;
    m.restarts = restarts;
    return m;
  }
  void log(const std::vector<StepMetrics>& steps) const {
    std::string lines;
    for (const StepMetrics& m : steps) lines += to_json(m) + "\n";
    write_bytes(file("metrics.jsonl"), lines);
  }
  std::string status() const {
    const CommandResult r = submit("status " + directory);
    EXPECT_EQ(r.exit_code, 0) << r.all();
    return r.out;
  }
};

TEST_F(SubmitStatus, OfARunThatTrainsHasTheAgeOfItsLastLineAndTheRest) {
  // Slower before the restart, and in its first step.
  std::vector<StepMetrics> steps = {step(1, 0, 50), step(2, 0, 50), step(2, 1, 100), step(3, 1, 1), step(5, 1, 2.5)};
  steps.back().interval_steps = 2;  // which take 6.25 s
  steps.back().time = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr) - 130));
  log(steps);
  const std::string out = status();
  expect_in("running at step 5 of 5000, restarts 1, begun or saved 20", out);
  expect_in("metrics  step 5, loss 2.5000, grad_norm 0.0000, tokens_per_second 0, logged 2 min ago\n", out);
  // 8.5 s of three steps
  expect_in("left     4,995 steps, about 3 h 56 min at the pace of the last 3 steps\n", out);
}

TEST_F(SubmitStatus, KnowsNoPaceOfOlderLines) {
  StepMetrics older = step(4, 1, 1);  // whose wall time is not known
  older.validation_seconds = older.checkpoint_stall_seconds = older.wait_seconds = std::nullopt;
  older.time = "yesterday";
  for (const std::string& line : {to_json(older), std::string(R"({"step": 4, "loss": 2.5})")}) {
    write_bytes(file("metrics.jsonl"), line + "\n");
    const std::string out = status();
    expect_in("metrics  step 4, loss 2.5000", out);
    expect_not_in("logged", out);
    expect_in("left     4,996 steps\n", out);
  }
}

/// The line of a step whose loss was not finite is logged, and the step does not count.
TEST_F(SubmitStatus, OfARunThatHasEndedHasTheStepThatItEndedAt) {
  log({step(1, 0, 1), step(2, 0, 1)});
  write_status(file("status.json"), {.state = "failed", .reason = "nan", .exit_code = 77, .step = 1, .steps = 40});
  const std::string out = status();
  expect_in("failed at step 1 of 40 (nan), restarts 0, ended 20", out);
  expect_in("metrics  step 2, ", out);
  expect_not_in("left     ", out);
}

/// An older octet job wrote the step of the last save.
TEST_F(SubmitStatus, OfARunThatLostARankHasTheStepOfItsLastLine) {
  log({step(1, 0, 1), step(2, 0, 1)});
  write_status(file("status.json"), {.state = "failed", .reason = "lost", .exit_code = 71, .step = 1, .steps = 40});
  expect_in("failed at step 2 of 40 (lost), restarts 0, ended 20", status());
}

TEST_F(SubmitStatus, ReadsTheEndOfALongFile) {
  std::vector<StepMetrics> steps;
  for (std::int64_t n = 1; n <= 4000; ++n) steps.push_back(step(n, 1, n <= 100 ? 1000 : 0.75));
  log(steps);
  ASSERT_GT(std::filesystem::file_size(file("metrics.jsonl")), std::size_t{1} << 20);
  const std::string out = status();
  expect_in("running at step 4000 of 5000", out);
  expect_in("left     1,000 steps, about 33 min at the pace of the last ", out);  // 2 s each
}

}  // namespace
}  // namespace octet::test
