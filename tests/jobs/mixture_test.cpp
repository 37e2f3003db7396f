// Mixtures of sources over a run that is cut off: changes of their weights, and sources that come later.
#include <algorithm>

#include "tests/jobs/saved.h"

namespace octet::test {
namespace {

/// data/other: the same letters in other words.
void prepare_other() {
  static const bool made = [] {
    std::string text = simple_text();
    std::ranges::transform(text, text.begin(),
                           [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>('a' + 'z' - c) : c; });
    write_bytes(workplace() / "other/text.txt", text);
    const CommandResult r = in_workplace(OCTET_BIN_DIR "/octet prepare --input other --output data/other");
    if (r.exit_code != 0) throw std::runtime_error("octet prepare: " + r.all());
    return true;
  }();
  static_cast<void>(made);
}

const std::string saving = " --train.micro_batch 1 --checkpoint.interval 10 --data.train ";
const std::string one = saving + "data/text";

std::string two(double weight) {
  prepare_other();
  return saving + fmt::format("'[data/text, {{path: data/other, weight: {}}}]'", weight);
}
std::string changes(const std::string& text) {
  return fmt::format(" --data.changes '[{}]'", text);
}

void expect_refused(const TrainedRun& run, const std::string& arguments, const std::string& reason) {
  const TrainedRun refused = train_in(run.directory, 2, arguments);
  EXPECT_EQ(refused.result.exit_code, 64) << refused.result.all();
  EXPECT_HAS(refused.result.err, reason);
}

const std::string early = "{step: 8, weights: [1, 1]}", late = ", {step: 14, weights: [0, 1]}";

TEST(Mixture, ChangesOfARunThatGoesOnAreThoseOfOneThatWasNeverCutOff) {
  const TrainedRun& whole = finished(2, "--train.steps 20" + two(0) + changes(early + late));
  const std::string first =
      "data: the mixture changes, from step 8 on: data/text 100.00 -> 50.00 %, data/other 0.00 -> 50.00 %";
  EXPECT_HAS(whole.result.err, first);
  const TrainedRun run = train(2, "--train.steps 10" + two(0) + changes(early + late));
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  EXPECT_HAS(run.result.err, "data.changes: the one from step 14 on comes after the last step, 10");

  expect_refused(run, "--train.steps 20" + two(0) + changes("{step: 9, weights: [1, 1]}" + late), "data.changes = ");
  const std::string allowed = " --checkpoint.allow_changes data.changes";
  expect_refused(run, "--train.steps 20" + allowed + two(0) + changes("{step: 9, weights: [1, 1]}" + late),
                 "what has been read cannot change");
  expect_refused(run, "--train.steps 20" + two(1) + changes(early + late), "data.train[1].weight = 0 there, 1 now");
  expect_refused(run, "--train.steps 20" + one, "data.changes = ");
  expect_refused(run, "--train.steps 20" + allowed + one, "data.train has 2 sources there, 1 now");

  const TrainedRun resumed = train_in(run.directory, 2, "--train.steps 20" + two(0) + changes(early + late));
  ASSERT_EQ(resumed.result.exit_code, 0) << resumed.result.all();
  EXPECT_HAS(resumed.result.err, "from step 14 on: data/text 50.00 -> 0.00 %, data/other 50.00 -> 100.00 %");
  EXPECT_EQ(resumed.losses(), whole.losses());

  std::filesystem::remove_all(checkpoints_of(resumed).front());
  const TrainedRun other = train_in(run.directory, 2, "--train.steps 20" + allowed + two(0) + changes(early));
  ASSERT_EQ(other.result.exit_code, 0) << other.result.all();
  const auto losses = other.losses(), before = whole.losses();
  EXPECT_TRUE(std::equal(losses.begin(), losses.begin() + 13, before.begin())) << "the weights are those of step 8";
  EXPECT_NE(losses[13], before[13]);
}

TEST(Mixture, ASourceComesInWhereItIsAllowed) {
  const TrainedRun run = train(2, "--train.steps 10" + one);
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  expect_refused(run, "--train.steps 20" + two(2), "to add data/other from step 11 on, change it on purpose with");
  const std::string allowed = " --checkpoint.allow_changes data.train";
  TrainedRun resumed = train_in(run.directory, 2, "--train.steps 20" + allowed + two(2));
  ASSERT_EQ(resumed.result.exit_code, 0) << resumed.result.all();
  EXPECT_HAS(resumed.result.err, "checkpoint.allow_changes: data.train: data/other is added from step 11 on");

  // As if it had been there, but off, from the start.
  const std::string off = two(0) + changes("{step: 11, weights: [1, 2]}");
  EXPECT_EQ(resumed.losses(), finished(2, "--train.steps 20" + off).losses());

  resumed = train_in(run.directory, 2, "--train.steps 26" + two(2));
  ASSERT_EQ(resumed.result.exit_code, 0) << resumed.result.all();
  EXPECT_EQ(resumed.losses(), finished(2, "--train.steps 26" + off).losses());
  EXPECT_EQ(resumed.metrics().back()["passes"], finished(2, "--train.steps 26" + off).metrics().back()["passes"]);
}

}  // namespace
}  // namespace octet::test
