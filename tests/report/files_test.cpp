#include "tests/report/report_folder.h"

#include <sys/stat.h>

#include <algorithm>

#include "src/report/run_files.h"
#include "src/report/summary.h"

namespace octet {
namespace {

using test::error_of;
using test::metrics_of;
using Steps = std::vector<std::int64_t>;

struct Files : test::ReportTest {
  std::string line(std::int64_t step) const { return to_json(metrics_of(step, 1.5)) + "\n"; }
};

TEST_F(Files, ALineThatIsBeingWrittenIsLeftOut) {
  const auto metrics = read_metrics(write("m", line(1) + line(2) + R"({"step":3,"lo)"));
  ASSERT_EQ(metrics.size(), 2u);
  EXPECT_EQ(metrics[1].step, 2);
  EXPECT_EQ(metrics[1].loss, 1.5);
  EXPECT_TRUE(read_metrics(write("m", "")).empty());
}

/// The file is read in blocks of 1 MiB.
TEST_F(Files, ALongOneIsReadLineByLine) {
  std::string lines;
  std::int64_t step = 0;
  while (lines.size() < (std::size_t{5} << 19)) lines += line(++step);
  const StepMetrics last = metrics_of(step + 1, 1.25);
  const auto metrics = read_metrics(write("m", lines + to_json(last) + "\n"));
  ASSERT_EQ(std::ssize(metrics), step + 1);
  for (std::int64_t i = 0; i <= step; ++i) ASSERT_EQ(metrics[static_cast<std::size_t>(i)].step, i + 1);
  EXPECT_EQ(metrics.back().loss, 1.25);
}

/// Of a million lines nothing is kept that the page does not show.
TEST_F(Files, TheLastLineAloneKeepsItsPasses) {
  StepMetrics m = metrics_of(1, 2.5);
  m.time = "2026-11-27T09:54:53Z";
  m.passes = {0.25, 1};
  const std::string first = to_json(m) + "\n";
  m.step = 2;
  m.passes = {0.5, 2};
  const auto metrics = read_metrics(write("m", first + to_json(m) + "\n"));
  ASSERT_EQ(metrics.size(), 2u);
  EXPECT_EQ(metrics[0].passes.capacity(), 0u);
  EXPECT_EQ(metrics[1].passes, m.passes);
  for (const StepMetrics& read : metrics) EXPECT_EQ(read.time.capacity(), std::string().capacity());
}

TEST_F(Files, ADamagedLineIsNamed) {
  const std::string path = write("m", line(1) + "{\"step\":2,\n" + line(3));
  EXPECT_TRUE(error_of([&] { read_metrics(path); }).starts_with("[metrics] " + path + ":2: no valid JSON"));
  write("m", line(1) + "{\"step\":2,\"loss\":\"x\"}\n");
  EXPECT_EQ(error_of([&] { read_metrics(path); }),
            "[metrics] " + path + ":2: loss is \"x\"; expected a number or null");
  write("m", line(1) + line(2) + line(2));
  EXPECT_EQ(error_of([&] { read_metrics(path); }),
            "[report] " + path + ":3: step 2 after step 2, expected each step once and in order");
  EXPECT_NE(error_of([&] { read_metrics(path + "x"); }).find(path + "x: cannot be read: No such file"),
            std::string::npos);
}

/// A pipe would wait for its writer, and a device never end.
TEST_F(Files, OfARunAreRegularOnes) {
  for (const char* name : {"status.json", "config.yaml", "metrics.jsonl"}) {
    const std::string directory = run("run", "run:\n  steps: 9\n", {1, 2}), path = directory + "/" + name;
    const std::string message = "[report] " + path + ": cannot be read: it is no regular file";
    std::filesystem::remove(path);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(error_of([&] { read_run(directory); }), message);
    std::filesystem::remove(path);
    std::filesystem::create_symlink("/dev/zero", path);
    EXPECT_EQ(error_of([&] { read_run(directory); }), message);
    std::filesystem::remove(path);
  }
  const std::string directory = run("run", "", {1}), path = directory + "/status.json";
  write("run/status.json", std::string((1 << 20) + 1, ' '));
  EXPECT_EQ(error_of([&] { read_run(directory); }), "[report] " + path + ": cannot be read: File too large");
}

TEST_F(Files, WhatAKilledStartLeftOfADiscardedLineIsPassedOver) {
  const auto lines = read_discarded_metrics(write("d", line(7) + "{\"step\":8,\"l\n" + line(3)));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].step, 7);
  EXPECT_EQ(lines[1].step, 3);
}

TEST(Restarts, AreWhereTheirFirstStepsAre) {
  // Start 1 went on at 4, start 2 at 3 and start 4 at 6; start 3 logged nothing.
  const std::vector<StepMetrics> kept = {metrics_of(1, 1, 0), metrics_of(2, 1, 0), metrics_of(3, 1, 2),
                                         metrics_of(4, 1, 2), metrics_of(5, 1, 2), metrics_of(6, 1, 4)};
  const std::vector<StepMetrics> discarded = {metrics_of(3, 1, 0), metrics_of(4, 1, 1), metrics_of(5, 1, 1)};
  EXPECT_EQ(restart_steps(kept, discarded, 1), (Steps{3, 4, 6}));
  EXPECT_EQ(restart_steps(kept, {}, 1), (Steps{3, 6}));
  EXPECT_EQ(restart_steps({kept[0], kept[1]}, {}, 1), Steps{});
}

TEST(Restarts, OfFilesThatDoNotSayAreWhereStepsWereDoneAgain) {
  std::vector<StepMetrics> discarded;
  for (const std::int64_t step : {12, 14, 22, 24, 26, 22}) discarded.push_back(metrics_of(step, 1, std::nullopt));
  const std::vector<StepMetrics> kept = {metrics_of(2, 1, std::nullopt)};
  EXPECT_EQ(restart_steps(kept, discarded, 2), (Steps{12, 22, 22}));
  EXPECT_EQ(restart_steps(kept, discarded, 8), (Steps{12, 22}));
  EXPECT_EQ(restart_steps(kept, {}, 2), Steps{});
}

TEST_F(Files, ARunIsReadWhole) {
  const RunFiles run =
      read_run(test::ReportTest::run("a", "model: 5m\ntrain:\n  steps: 9\ndata:\n  train: [{path: x}]\n", {3, 2}));
  EXPECT_EQ(run.name, "a");
  EXPECT_EQ(run.status.state, "running");
  EXPECT_EQ(run.metrics.size(), 2u);
  EXPECT_EQ(run.option("model"), "5m");
  EXPECT_EQ(run.option("train.steps"), "9");
  EXPECT_EQ(run.option("data.train"), "[{path: x}]");
  EXPECT_EQ(run.option("absent"), "");
  EXPECT_TRUE(run.discarded.empty());
  EXPECT_FALSE(run.profile);
}

/// While a run goes on, the file has the step of the last save; once it has ended, the last step that counts.
TEST_F(Files, TheStepIsTheLastLoggedOneUntilTheRunSaysWhereItEnded) {
  const std::string run = test::ReportTest::run("a", "model: 5m\n", {3, 2});
  EXPECT_EQ(read_run(run).status.step, 2);
  write("a/status.json", R"({"state":"failed","reason":"nan","exit_code":77,"step":1,"steps":9,"restarts":0})");
  EXPECT_EQ(read_run(run).status.step, 1);
  // Of a rank that was lost: an older octet job wrote the step of the last save.
  write("a/status.json", R"({"state":"failed","reason":"lost","exit_code":71,"step":1,"steps":9,"restarts":0})");
  EXPECT_EQ(read_run(run).status.step, 2);
}

TEST_F(Files, ARunThatFailedBeforeItsFirstStepHasItsReasonAlone) {
  write("a/status.json", R"({"state":"failed","reason":"no data","exit_code":70,"step":0,"steps":9,"restarts":0})");
  const RunFiles run = read_run(folder / "a");
  EXPECT_EQ(run.status.reason, "no data");
  EXPECT_TRUE(run.config.empty() && run.model.empty() && run.metrics.empty());
  const auto rows = summary_table({run});
  const auto value = [&](const std::string& label) {
    return std::ranges::find(rows, label, &TableRow::label)->values.at(0);
  };
  EXPECT_EQ(value("Steps"), "0 of 9");
  for (const char* label : {"Model", "Precision", "Layout", "Global batch", "Device"}) EXPECT_EQ(value(label), "–");
}

TEST_F(Files, TheModelIsReadWithItsNumberOfParameters) {
  const std::string run = test::ReportTest::run("a", "model: m.yaml\n", {3});
  EXPECT_TRUE(read_run(run).model.empty()) << "older versions wrote none";
  write("a/model.yaml", "# 4,852,992 parameters\ndim: 256\nlayers: 6\n");
  const RunFiles read = read_run(run);
  EXPECT_EQ(read.model.at("dim"), "256");
  EXPECT_EQ(read.parameters, "4,852,992");
  EXPECT_EQ(summary_table({read})[4].values[0], "m.yaml, 4,852,992 parameters");
  for (const char* head : {"", "# of many parameters\n", "# 7\n"}) {
    write("a/model.yaml", head + std::string("dim: 256\n"));
    EXPECT_EQ(read_run(run).parameters, "") << head;
  }
  write("a/model.yaml", "dim: [\n");
  EXPECT_TRUE(error_of([&] { read_run(run); }).starts_with("[config] " + run + "/model.yaml:2: no valid YAML"));
}

TEST_F(Files, WhatIsMissingOrDamagedIsNamed) {
  const std::string run = test::ReportTest::run("a", "model: 5m\n", {3});
  const auto message = [&] { return error_of([&] { read_run(run); }); };
  write("a/status.json", "{\n  \"state\": ,\n}\n");
  EXPECT_TRUE(message().starts_with("[report] " + run + "/status.json:2: no valid JSON")) << message();
  write("a/status.json", "{}");
  EXPECT_EQ(message(), "[report] " + run + "/status.json: expected state, reason, exit_code, step and steps of a run");
  std::filesystem::remove(folder / "a/status.json");
  EXPECT_EQ(message(), "[report] " + run + ": is no run directory: there is no status.json in it");
  EXPECT_EQ(error_of([&] { read_run(folder.path()); }),
            "[report] " + folder.path() + ": is no run directory: there is no status.json in it");
  test::ReportTest::run("b", "model: 5m\n", {3});
  test::ReportTest::run("c", "model: 5m\n", {3});
  EXPECT_EQ(error_of([&] { read_run(folder.path()); }),
            "[report] " + folder.path() +
                ": is no run directory: there is no status.json in it; b is one: name the runs themselves");
  test::ReportTest::run("a", "model: 5m\ntrain: [\n", {3});
  EXPECT_TRUE(message().starts_with("[config] " + run + "/config.yaml:3: no valid YAML")) << message();
  test::ReportTest::run("a", "- 5m\n", {3});
  EXPECT_EQ(message(), "[config] " + run + "/config.yaml: found a list, expected a map of options");
  EXPECT_EQ(error_of([&] { read_run(run + "/none"); }), "[report] " + run + "/none: is no run directory");
  test::ReportTest::run("a", "model: 5m\n", {3});
  std::filesystem::create_symlink("profile.json", folder / "a/profile.json");
  EXPECT_EQ(message(), "[report] " + run + "/profile.json: cannot be read: Too many levels of symbolic links");
}

TEST_F(Files, RunsHaveTheShortestNamesThatTellThemApart) {
  const std::vector<std::string> paths = {test::ReportTest::run("a/x", "model: 5m\n", {3}),
                                          test::ReportTest::run("b/x", "model: 5m\n", {3}),
                                          test::ReportTest::run("b/y", "model: 5m\n", {3})};
  const auto runs = read_runs(paths);
  EXPECT_EQ(runs[0].name, "a/x");
  EXPECT_EQ(runs[1].name, "b/x");
  EXPECT_EQ(runs[2].name, "y");
  EXPECT_EQ(error_of([&] { read_runs({paths[0], paths[0] + "/."}); }), "[report] " + paths[0] + "/.: is named twice");
}

TEST_F(Files, AProfileIsReadAndItsFormChecked) {
  const std::string rank =
      R"({"rank":1,"node":"n","wall":6,"seconds":{"gemm":1,"attention":1,"memory_bound":1,"exposed_communication":1,)"
      R"("overlapped_communication":0.5,"host":1,"idle":1}})";
  const std::string path = write("profile.json", "{\"steps\":[3,5],\"ranks\":[" + rank +
                                                     "],\"kernels\":[{\"name\":\"k\",\"kind\":\"gemm\",\"phase\":"
                                                     "\"forward\",\"calls\":2,\"seconds\":0.5,\"bytes\":8}]}");
  const Profile profile = read_profile(path);
  EXPECT_EQ(profile.last_step, 5);
  ASSERT_EQ(profile.ranks.size(), 1u);
  EXPECT_EQ(profile.ranks[0].node, "n");
  EXPECT_EQ(profile.ranks[0].seconds.back(), 0.5);  // overlapped
  ASSERT_EQ(profile.kernels.size(), 1u);
  EXPECT_EQ(profile.kernels[0].calls, 2);
  write("profile.json", "{\"steps\":[3,5],\"ranks\":[{\"rank\":1}],\"kernels\":[]}");
  EXPECT_EQ(error_of([&] { read_profile(path); }), "[report] " + path + ": ranks[0].node is missing; expected a text");
}

}  // namespace
}  // namespace octet
