// Where a run's time goes, on a device whose clock the test knows: copies between host and device take time of the
// stream, and each mark of the clock takes time of the host.
#include <fstream>
#include <numeric>

#include "src/train/step/model_state.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/parallel/recording_device.h"
#include "tests/train_ranks/loop_run.h"

namespace octet {
namespace {

// Powers of two, so that every sum is exact.
constexpr double per_byte = 1.0 / 1024, of_a_mark = 1.0 / 4096;

class StepTimes : public TrainerTest {
 protected:
  StepTimes() {
    config_.train.steps = 10;
    config_.train.micro_batch = 1;
    config_.train.validate_every = 4;
    config_.train.validation_batches = 1;
    config_.checkpoint.interval = "3";
  }

  struct Ended {
    std::vector<StepMetrics> lines;  ///< rank 0's
    std::string last_line;           ///< likewise, of the log
    double wall = 0;                 ///< of this rank, from the first mark of the clock to the last
    double step = 0;                 ///< what a step's copies take: also those of a validation of one batch
    double snapshot = 0;             ///< what those of a checkpoint take
  };

  Ended run(AutoBool late_results) {
    config_.train.late_results = late_results;
    config_.run_dir = folder_ / fmt::format("run-{}", runs_++);
    test::Recording recording;
    recording.clock.per_byte = per_byte;
    recording.clock.per_timing_event = of_a_mark;
    test::RecordingDevice device(recording);
    const auto stream = device.make_stream();
    Mesh mesh(make_mpi_communicator(*stream, "world"), {.dp_shard = 0});
    LoopRun loop(config_, mesh, *world_, *stream);
    Trainer& trainer = loop.trainer;

    Ended ended;
    const std::int64_t batches = batch / world_->size(), scalars = 3 + trainer.model().counters();
    ended.step = static_cast<double>(batches * 2 * seq * 4 + scalars * 4) * per_byte;
    for (const auto& piece : held_pieces(trainer.model())) {
      ended.snapshot += static_cast<double>(piece.box.extent.elements() * 4) * per_byte;
    }
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    stream->synchronize();
    const double begin = recording.clock.host + of_a_mark;
    const int code = loop.train();
    ended.wall = recording.clock.host - begin;
    testing::internal::GetCapturedStdout();
    const std::string err = testing::internal::GetCapturedStderr();
    EXPECT_EQ(code, 0);
    EXPECT_FALSE(trainer.model().update_under_way()) << "the last update is a part of the run, and of what is saved";
    EXPECT_EQ(loop.failure.done().load(), config_.train.steps);
    if (world_->rank() != 0) return ended;
    ended.last_line = err.substr(err.find("finished after step"));
    std::ifstream file(loop.directory.metrics());
    for (std::string line; std::getline(file, line);) ended.lines.push_back(step_metrics_of(line, "metrics.jsonl"));
    return ended;
  }

  static double sum(const std::vector<StepMetrics>& lines) {
    return std::accumulate(lines.begin(), lines.end(), 0.0,
                           [](double s, const StepMetrics& m) { return s + wall_seconds(m).value(); });
  }

 private:
  int runs_ = 0;
};

class StepTimesOfResults : public StepTimes, public testing::WithParamInterface<AutoBool> {};

INSTANTIATE_TEST_SUITE_P(Read, StepTimesOfResults, testing::Values(AutoBool::no, AutoBool::yes),
                         [](const auto& late) { return std::string(late.param == AutoBool::yes ? "Late" : "AtOnce"); });

TEST_P(StepTimesOfResults, AStepTakesWhatItTakesOnTheDevice) {
  const Ended ended = run(GetParam());
  for (const StepMetrics& m : ended.lines) {
    EXPECT_EQ(m.step_seconds, ended.step) << m.step;
    EXPECT_EQ(m.interval_steps, 1) << m.step;
    EXPECT_EQ(m.tokens_per_second, static_cast<double>(batch * seq) / ended.step) << m.step;
    EXPECT_EQ(m.tokens_per_second_per_rank, m.tokens_per_second / world_->size()) << m.step;
    const bool validated = m.step % 4 == 0 || m.step == 10;
    EXPECT_EQ(m.validation_loss.has_value(), validated) << m.step;
    EXPECT_EQ(*m.validation_seconds, validated ? ended.step + of_a_mark : 0) << m.step;
    const bool saved = m.step > 1 && m.step % 3 == 1;  // after the step before
    EXPECT_EQ(*m.checkpoint_stall_seconds >= ended.snapshot, saved) << m.step;
  }
}

TEST_P(StepTimesOfResults, StepsAndPausesAddUpToWallTime) {
  for (const std::int64_t every : {1, 3}) {
    config_.train.log_every = every;
    const Ended ended = run(GetParam());
    if (world_->rank() != 0) continue;
    // After the last line comes the last checkpoint: a snapshot, the mark before it and the one after it.
    EXPECT_EQ(sum(ended.lines) + ended.snapshot + 2 * of_a_mark, ended.wall) << every;
    const double tokens = 10.0 * batch * seq;
    const std::string expected =
        fmt::format("10 step(s) in {:.2f} s: {} tokens/s with pauses, {} training alone (pauses: data ", ended.wall,
                    grouped(tokens / ended.wall), grouped(tokens / (10 * ended.step)));
    EXPECT_NE(ended.last_line.find(expected), std::string::npos) << ended.last_line << "\n" << expected;
  }
}

TEST_P(StepTimesOfResults, ALineHasTheMeanOfItsInterval) {
  config_.train.log_every = 3;
  const Ended ended = run(GetParam());
  if (world_->rank() != 0) return;
  std::vector<std::int64_t> steps, intervals;
  for (const StepMetrics& m : ended.lines) {
    steps.push_back(m.step);
    intervals.push_back(m.interval_steps);
    EXPECT_EQ(m.step_seconds, ended.step) << m.step;
    EXPECT_EQ(m.tokens_per_second, static_cast<double>(batch * seq) / ended.step) << m.step;
  }
  EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 3, 4, 6, 8, 9, 10}));
  EXPECT_EQ(intervals, (std::vector<std::int64_t>{1, 2, 1, 2, 2, 1, 1}));
}

/// An update beside the forward pass takes its time from the next step, or, before what looks at the state, from its
/// own.
TEST_P(StepTimesOfResults, AddUpWithUpdatesBesideTheForwardPass) {
  config_.optimizer.beside_forward = AutoBool::yes;
  config_.parallel.check_replicas_every = 0;  // would take the masters, and join their update
  const Ended ended = run(GetParam());
  if (world_->rank() != 0) return;
  EXPECT_EQ(ended.lines.size(), 10u);
  EXPECT_EQ(sum(ended.lines) + ended.snapshot + 2 * of_a_mark, ended.wall);
}

/// The host's work between two steps costs nothing while the device has another step to do.
TEST_F(StepTimes, LateReadingHidesTheHost) {
  config_.train.validate_every = 0;
  config_.checkpoint.interval = "off";
  const Ended late = run(AutoBool::yes), at_once = run(AutoBool::no);
  if (world_->rank() != 0) return;
  for (std::size_t i = 1; i < late.lines.size() - 1; ++i) {
    EXPECT_EQ(wall_seconds(late.lines[i]), late.step) << i;
    EXPECT_EQ(at_once.lines[i].data_seconds, of_a_mark) << i;
    EXPECT_EQ(*at_once.lines[i].wait_seconds, of_a_mark) << i;
  }
}

}  // namespace
}  // namespace octet
