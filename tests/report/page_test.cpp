#include "src/report/page.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "src/report/difference.h"
#include "src/report/series.h"
#include "src/report/summary.h"
#include "tests/report/report_folder.h"

namespace octet {
namespace {

using test::error_of;
using test::metrics_of;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

const Quantity& quantity(std::string_view plot, std::string_view name) {
  for (const Quantity& q : quantities()) {
    if (q.plot == plot && q.name == name) return q;
  }
  throw std::runtime_error("no such quantity");
}

TEST(Series, HoldsTheStepsAtWhichSomethingWasMeasured) {
  std::vector<StepMetrics> metrics = {metrics_of(1, 3), metrics_of(2, nan), metrics_of(3, 1)};
  metrics[2].validation_loss = 1.25;
  metrics[1].memory_bytes = std::int64_t{3} << 29;
  const Series loss = series_of(metrics, quantity("loss", ""));
  EXPECT_EQ(loss.steps, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_TRUE(std::isnan(loss.values[1]));
  const Series validation = series_of(metrics, quantity("loss", "validation"));
  EXPECT_EQ(validation.steps, std::vector<std::int64_t>{3});
  EXPECT_EQ(validation.values, std::vector<double>{1.25});
  EXPECT_EQ(series_of(metrics, quantity("memory", "")).values[1], 1.5);
  EXPECT_TRUE(series_of(metrics, quantity("mfu", "")).steps.empty());
  metrics[2].interval_steps = 4;
  metrics[2].data_seconds = 2;  // of all four
  EXPECT_EQ(series_of(metrics, quantity("data_time", "")).values[2], 0.5);
}

TEST(Series, EveryQuantityStandsInAPlot) {
  for (const Quantity& q : quantities()) {
    EXPECT_EQ(std::ranges::count(plots(), q.plot, &Plot::id), 1) << q.plot;
  }
}

TEST(Difference, IsTheMeanOfAWindowWithItsStandardError) {
  std::vector<StepMetrics> first, run;
  for (std::int64_t step = 1; step <= 640; ++step) {
    const double loss = 5 / static_cast<double>(step);
    first.push_back(metrics_of(step, loss));
    if (step % 2 == 0) run.push_back(metrics_of(step, loss + (step % 4 == 0 ? 0.3 : 0.1)));  // every other one
  }
  const LossDifference d = loss_difference(run, first, 2000);
  EXPECT_EQ(d.window, 8u);  // a fortieth of 320
  ASSERT_EQ(d.steps.size(), 320u);
  EXPECT_EQ(d.steps[100], run[100].step);
  EXPECT_NEAR(d.means[100], 0.2, 1e-12);
  // Four of 0.1 and four of 0.3: the variance of a sample is 8/7 of 0.01.
  EXPECT_NEAR(d.errors[100], std::sqrt(0.01 * 8 / 7 / 8), 1e-12);
  EXPECT_EQ(loss_difference(first, run, 2000).steps, d.steps) << "steps that both logged";
  EXPECT_LE(loss_difference(run, first, 100).steps.size(), 100u);
  EXPECT_TRUE(loss_difference(run, {first.begin(), first.begin() + 10}, 100).steps.empty());
  run[100].loss = nan;
  EXPECT_EQ(loss_difference(run, first, 2000).steps.size(), 319u);
  const LossDifference none = loss_difference(first, first, 2000);
  EXPECT_EQ(none.means, std::vector<double>(640, 0.0));
  EXPECT_EQ(none.errors, std::vector<double>(640, 0.0));
}

TEST(Thinning, KeepsEndsPeaksAndGaps) {
  Series series;
  for (std::int64_t step = 0; step < 10000; ++step) {
    series.steps.push_back(step + 1);
    series.values.push_back(std::sin(static_cast<double>(step)));
  }
  series.values[4321] = 50;
  series.values[8765] = -40;
  series.values[5555] = nan;
  const Series thin = thinned(series, 200);
  EXPECT_GT(thin.values.size(), 150u);
  EXPECT_LE(thin.values.size(), 201u);  // the gap on top
  ASSERT_EQ(thin.values.size(), thin.steps.size());
  EXPECT_EQ(thin.steps.front(), 1);
  EXPECT_EQ(thin.steps.back(), 10000);
  EXPECT_TRUE(std::ranges::is_sorted(thin.steps));
  EXPECT_EQ(std::ranges::count(thin.steps, 4322), 1);
  EXPECT_EQ(std::ranges::count(thin.steps, 8766), 1);
  EXPECT_EQ(std::ranges::count(thin.steps, 5556), 1);
  for (std::size_t i = 0; i < thin.steps.size(); ++i) {
    const double whole = series.values[static_cast<std::size_t>(thin.steps[i] - 1)];
    EXPECT_TRUE(thin.values[i] == whole || (std::isnan(whole) && std::isnan(thin.values[i])));
  }
}

TEST(Thinning, LeavesAShortSeriesAlone) {
  const Series series{{1, 2, 3}, {3, nan, 1}};
  EXPECT_EQ(thinned(series, 3).steps, series.steps);
}

TEST(Summary, ThroughputIsWithoutTheFirstStepOfAStart) {
  std::vector<StepMetrics> metrics;
  for (std::int64_t step = 1; step <= 5; ++step) metrics.push_back(metrics_of(step, 1));
  metrics[0].tokens_per_second = 1;
  metrics[3].tokens_per_second = 2;  // the first after a restart
  metrics[4].tokens_per_second = 500;
  metrics[4].step_seconds = 6;
  EXPECT_EQ(mean_throughput(metrics, {4}).training, (100.0 * 2 + 100 * 2 + 500 * 6) / 10);
  EXPECT_EQ(mean_throughput({metrics[0]}, {}).training, std::nullopt);
  EXPECT_EQ(mean_throughput({metrics[0]}, {}).with_pauses, std::nullopt);
  EXPECT_EQ(mean_throughput({}, {}).training, std::nullopt);
}

TEST(Summary, ThroughputIsWithPausesAndWithout) {
  std::vector<StepMetrics> metrics{metrics_of(1, 1), metrics_of(2, 1), metrics_of(12, 1)};
  metrics[2].interval_steps = 10;  // 2000 tokens in 20 s
  EXPECT_EQ(mean_throughput(metrics, {}).with_pauses, std::nullopt) << "files of older versions";
  for (StepMetrics& m : metrics) m.validation_seconds = m.checkpoint_stall_seconds = m.wait_seconds = 1;
  metrics[2].data_seconds = 12;
  const TokensPerSecond mean = mean_throughput(metrics, {});
  EXPECT_EQ(mean.training, 100);
  EXPECT_EQ(mean.with_pauses, 2200.0 / (22 + 3 + 3 + 12));
}

RunFiles run_with(std::map<std::string, std::string> config) {
  RunFiles run;
  run.config = std::move(config);
  return run;
}

TEST(Differences, AreTheOptionsThatAreNotTheSame) {
  const auto rows =
      differing_options({run_with({{"model", "5m"}, {"optimizer.lr", "0.1"}, {"run.dir", "a"}, {"x", "1"}}),
                         run_with({{"model", "5m"}, {"optimizer.lr", "0.2"}, {"run.dir", "b"}})});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].label, "optimizer.lr");
  EXPECT_EQ(rows[0].values, (std::vector<std::string>{"0.1", "0.2"}));
  EXPECT_EQ(rows[1].label, "x");
  EXPECT_EQ(rows[1].values, (std::vector<std::string>{"1", "(none)"}));
  EXPECT_TRUE(differing_options({run_with({{"x", "1"}})}).empty());
}

/// One name, as of a file that was edited between the runs.
TEST(Differences, AreInTheModelToo) {
  RunFiles a = run_with({{"model", "m.yaml"}}), b = a;
  a.model = {{"dim", "64"}, {"layers", "2"}};
  b.model = {{"dim", "128"}, {"layers", "2"}};
  const RunFiles older = run_with({{"model", "m.yaml"}}), failed_first = run_with({});
  const auto rows = differing_options({a, b, older, failed_first});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].label, "model.dim");
  EXPECT_EQ(rows[0].values, (std::vector<std::string>{"64", "128", "(none)", "(none)"}));
  EXPECT_TRUE(differing_options({a, older, failed_first}).empty());
}

std::string value(const RunFiles& run, const std::string& label) {
  for (const TableRow& row : summary_table({run})) {
    if (row.label == label) return row.values.at(0);
  }
  return "no such row";
}

TEST(Summary, SaysWhatWasTrainedAndWhatCameOut) {
  RunFiles run = run_with({{"precision", "float8"},
                           {"float8.recipe", "rowwise"},
                           {"parallel.dp_shard", "4"},
                           {"parallel.tp", "2"},
                           {"parallel.dp_replicate", "1"},
                           {"train.global_batch", "12"},
                           {"train.seq_len", "32"}});
  run.status = {.state = "failed", .reason = "", .exit_code = 77, .step = 1099, .steps = 2000, .restarts = 2};
  std::vector<StepMetrics> lines;
  for (std::int64_t step = 1; step <= 1100; ++step) lines.push_back(metrics_of(step, 2.5, step < 900 ? 0 : 1));
  for (StepMetrics& m : lines) {
    m.validation_seconds = m.checkpoint_stall_seconds = 0.5;
    m.wait_seconds = 1;
  }
  run.metrics = lines;
  run.metrics.back().loss = nan;
  run.metrics[5].mfu = 41.26;
  run.metrics.back().passes = {0.256, 4.5};
  run.metrics[6].mfu = 40;
  run.metrics[6].memory_bytes = std::int64_t{3} << 30;
  run.discarded = {metrics_of(900, 1, 0)};
  EXPECT_EQ(value(run, "State"), "failed, exit code 77");
  EXPECT_EQ(value(run, "Steps"), "1,099 of 2,000") << "after the last one the loss was not finite";
  EXPECT_EQ(value(run, "Precision"), "float8, rowwise");
  EXPECT_EQ(value(run, "Layout"), "dp_shard 4 × tp 2");
  EXPECT_EQ(value(run, "Global batch"), "12 × 32 tokens");
  EXPECT_EQ(value(run, "Passes over the data"), "0.26, 4.50");
  EXPECT_EQ(value(run, "Last loss"), "2.5000 (step 1,099)");
  EXPECT_EQ(value(run, "Last validation loss"), "–");
  EXPECT_EQ(value(run, "Throughput, with pauses"), "50 tokens/s");
  EXPECT_EQ(value(run, "Throughput, training alone"), "100 tokens/s");
  EXPECT_EQ(value(run, "Best MFU"), "41.3 %");
  EXPECT_EQ(value(run, "Memory of rank 0, peak"), "3.00 GiB");
  EXPECT_EQ(value(run, "Restarts"), "2, 1 of them at a step that is not known; 1 logged step done again");
  EXPECT_EQ(value(run_with({{"precision", "bf16"}, {"parallel.tp", "1"}}), "Layout"), "one rank");
  EXPECT_EQ(value(run_with({{"precision", "bf16"}}), "Precision"), "bf16");
  EXPECT_EQ(value(run_with({}), "Best MFU"), "unknown");
  run.metrics.back().passes.clear();
  EXPECT_EQ(value(run, "Passes over the data"), "–") << "of older versions";
}

TEST(Summary, CountsRestartsThatWentOnAtTheSameStep) {
  RunFiles run = run_with({{"precision", "bf16"}});
  run.status.restarts = 3;
  run.metrics = {metrics_of(1, 1, 0), metrics_of(2, 1, 3)};
  run.discarded = {metrics_of(2, 1, 1), metrics_of(2, 1, 2)};
  EXPECT_EQ(value(run, "Restarts"), "3; 2 logged steps done again");
  const auto data = nlohmann::json::parse(report_data({run}));
  EXPECT_EQ(data["runs"][0]["restarts"], nlohmann::json::array({2})) << "one mark";
}

struct Page : test::ReportTest {};

TEST_F(Page, DataHoldWhatThePlotsNeed) {
  RunFiles run = read_run(test::ReportTest::run("a", "model: 5m\n", {3, nan, 1.23456789}));
  run.status.reason = "</script><!-- \xff";
  const std::string text = report_data({run});
  EXPECT_EQ(text.find('<'), std::string::npos);
  const auto data = nlohmann::json::parse(text);
  EXPECT_EQ(data["runs"][0]["name"], "a");
  EXPECT_EQ(data["runs"][0]["running"], true);
  EXPECT_EQ(data["runs"][0]["restarts"], nlohmann::json::array());
  EXPECT_FALSE(data["runs"][0].contains("profile"));
  const auto& loss = data["plots"][0];
  EXPECT_EQ(loss["id"], "loss");
  EXPECT_EQ(loss["lines"].size(), 1u);
  EXPECT_EQ(loss["lines"][0]["steps"], (nlohmann::json{1, 2, 3}));
  EXPECT_EQ(loss["lines"][0]["values"], (nlohmann::json{3.0, nullptr, 1.23457}));
  for (const auto& plot : data["plots"]) {
    EXPECT_NE(plot["id"], "mfu");         // not known
    EXPECT_NE(plot["id"], "non_finite");  // none
  }
  EXPECT_EQ(data["summary"][1]["values"][0], "</script><!-- \xef\xbf\xbd");
  EXPECT_EQ(data["longest"], 3);
  run.metrics[1].non_finite = 2;
  EXPECT_EQ(nlohmann::json::parse(report_data({run}))["plots"].back()["id"], "non_finite");
}

TEST(PageText, IsPutTogetherFromItsParts) {
  PageParts parts{.html = "<{{style}}|{{library}}|{{data}}|{{script}}>",
                  .style = "S",
                  .script = "{{data}}",
                  .plot_library = "L",
                  .plot_extras = "E",
                  .plot_style = "P",
                  .plot_licence = "free\n"};
  EXPECT_EQ(make_page(parts, "D"), "<P\nS|/*\nfree\n*/\nL\nE|D|{{data}}>");
  parts.plot_library = "";
  EXPECT_NE(error_of([&] { make_page(parts, "D"); }).find("libjs-dygraphs"), std::string::npos);
}

}  // namespace
}  // namespace octet
