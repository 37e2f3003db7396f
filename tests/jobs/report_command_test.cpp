#include "tests/jobs/job.h"

namespace octet::test {
namespace {

/// For a shell.
std::string in_quotes(std::string_view name) {
  std::string out = "'";
  for (const char c : name) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

CommandResult report(const std::string& arguments) {
  return in_workplace(OCTET_BIN_DIR "/octet report " + arguments);
}

TEST(Report, IsOnePageOfRealRuns) {
  const TrainedRun a = train(1, "--train.steps 6 --train.validate_every 3");
  const TrainedRun b = train(1, "--train.steps 6 --optimizer.lr 1e-3");
  ASSERT_EQ(a.result.exit_code + b.result.exit_code, 0) << a.result.all() << b.result.all();
  const CommandResult made = report(a.directory + " " + b.directory + " --output reported.html");
  ASSERT_EQ(made.exit_code, 0) << made.all();
  EXPECT_HAS(made.out, "reported.html: 2 runs");
  const std::string page = read_bytes(workplace() / "reported.html");
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_HAS(page, "\"label\":\"optimizer.lr\",\"values\":[\"0.003\",\"0.001\"]");
  EXPECT_HAS(page, "\"name\":\"validation\",\"dashed\":true,\"steps\":[3,6]");
  EXPECT_HAS(page, "MIT");  // dygraphs' licence
  EXPECT_EQ(report(a.directory + " -o reported.html").exit_code, 0);
}

/// One model file, edited between two runs.
TEST(Report, SaysWhatModelEachRunTrained) {
  const auto train_with = [](const std::string& ffn_dim) {
    std::string text = tiny_model;
    write_bytes(workplace() / "edited.yaml", text.replace(text.find("ffn_dim: 64"), 11, "ffn_dim: " + ffn_dim));
    TrainedRun run = train(1, "--train.steps 2 --model ./edited.yaml");
    EXPECT_EQ(run.result.exit_code, 0) << run.result.all();
    return run;
  };
  const TrainedRun a = train_with("64"), b = train_with("96");
  const std::string model = read_bytes(a.file("model.yaml"));
  EXPECT_TRUE(model.starts_with("# 41,120 parameters\ndim: 32\n")) << model;
  ASSERT_EQ(report(a.directory + " " + b.directory + " --output models.html").exit_code, 0);
  const std::string page = read_bytes(workplace() / "models.html");
  EXPECT_HAS(page, "\"label\":\"model.ffn_dim\",\"values\":[\"64\",\"96\"]");
  EXPECT_HAS(page, "edited.yaml, 41,120 parameters");
  // It is a model file.
  const TrainedRun again = train(1, "--train.steps 2 --model " + a.directory + "/model.yaml");
  EXPECT_EQ(again.losses(), a.losses()) << again.result.all();
}

/// gnuplot runs what stands in backquotes, and awk takes a name with = in it for an assignment.
TEST(PlotLoss, RunsNothingThatANameHolds) {
  std::string runs;
  for (const char* name : {"`touch made`", "lr=1e-3, it's", "a\"b"}) {
    write_bytes(workplace() / (name + std::string("/metrics.jsonl")),
                "{\"step\": 1, \"loss\": 2.5}\n{\"step\": 2, \"loss\": 2.25}\n");
    runs += in_quotes(name) + " ";
  }
  for (const char* script :
       {"plot_loss.sh --title 'a `touch made`' --level '`touch made`=2' --output losses.svg", "loss_table.sh"}) {
    const CommandResult r = in_workplace(fmt::format("{}/jobs/{} {} </dev/null", OCTET_SOURCE_DIR, script, runs));
    ASSERT_EQ(r.exit_code, 0) << r.all();
  }
  const CommandResult none = in_workplace(OCTET_SOURCE_DIR "/jobs/loss_table.sh " + runs + " text");
  EXPECT_EQ(none.exit_code, 64);
  EXPECT_EQ(none.all(), "loss_table.sh: text: has no metrics.jsonl that can be read; expected a run directory\n");
  const std::string picture = read_bytes(workplace() / "losses.svg");
  for (const char* text : {"`touch made`, training", "lr=1e-3, it", "a `touch made`"}) EXPECT_HAS(picture, text);
  EXPECT_FALSE(std::filesystem::exists(workplace() / "made"));
}

TEST(Report, RefusesWhatIsNoRunAndNeverWritesOverOtherFiles) {
  const TrainedRun run = train(1, "--train.steps 2");
  const std::string metrics = read_bytes(run.file("metrics.jsonl"));
  const CommandResult over = report(run.directory + " --output " + run.directory + "/metrics.jsonl");
  EXPECT_EQ(over.exit_code, 64);
  EXPECT_HAS(over.err, "metrics.jsonl: is there and no page of octet report");
  EXPECT_EQ(read_bytes(run.file("metrics.jsonl")), metrics);
  std::filesystem::create_symlink("loop.html", workplace() / "loop.html");
  const CommandResult loop = report(run.directory + " --output loop.html");
  EXPECT_EQ(loop.exit_code, 64);
  EXPECT_HAS(loop.err, "--output loop.html: cannot be looked at: Too many levels");
  const CommandResult nothing = report("");
  EXPECT_EQ(nothing.exit_code, 64);
  EXPECT_HAS(nothing.err, "usage: octet report RUN...");
  std::filesystem::create_directories(workplace() / "failed-first");
  write_bytes(workplace() / "failed-first/status.json",
              R"({"state":"failed","reason":"no data","exit_code":70,"step":0,"steps":9,"restarts":0})");
  const CommandResult early = report(run.directory + " failed-first --output early.html");
  EXPECT_EQ(early.exit_code, 0) << early.all();
  EXPECT_HAS(read_bytes(workplace() / "early.html"), "no data");
  const CommandResult missing = report("nowhere --output n.html");
  EXPECT_EQ(missing.exit_code, 64);
  EXPECT_HAS(missing.err, "nowhere: is no run directory");
  EXPECT_FALSE(std::filesystem::exists(workplace() / "n.html"));
  write_bytes(run.file("metrics.jsonl"), metrics + "{\n");
  const CommandResult damaged = report(run.directory + " --output n.html");
  EXPECT_EQ(damaged.exit_code, 64);
  EXPECT_HAS(damaged.err, run.directory + "/metrics.jsonl:3:");
}

}  // namespace
}  // namespace octet::test
