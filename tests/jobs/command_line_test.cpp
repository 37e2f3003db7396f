// octet-train as a person first meets it: help, the resolved configuration, a start without a launcher.
#include <cstring>

#include "tests/jobs/job.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

TEST(CommandLine, HelpIsPrintedOnceForAnyLaunch) {
  for (const std::string& command : {octet_train + " --help", launched(2, "--help")}) {
    SCOPED_TRACE(command);
    const CommandResult r = in_workplace(command);
    EXPECT_EQ(r.exit_code, 0) << r.err;
    EXPECT_EQ(r.err, "");
    for (const char* part : {"Usage: octet-train", "--print-config", "--precision", "\n  schedule ", "\n   75 "}) {
      EXPECT_EQ(occurrences(r.out, part) > 0, true) << part;
    }
    EXPECT_EQ(occurrences(r.out, "Usage: octet-train"), 1);
    EXPECT_EQ(occurrences(r.out, "--train.global_batch"), 0);  // --help train has it
  }
}

TEST(CommandLine, HelpHasTopics) {
  const auto help = [](const std::string& words) { return in_workplace(octet_train + " " + words); };
  EXPECT_EQ(help("-h").out, help("--help").out);
  EXPECT_HAS(help("--help data").out, "--data.train");
  EXPECT_EQ(occurrences(help("--help=data").out, "--optimizer.lr"), 0);
  EXPECT_HAS(help("--help dry-run").out, "--ranks-per-node");
  for (const char* part : {"Usage: octet-train", "--data.train", "--nccl.", "--ranks-per-node", "\n   77 "}) {
    EXPECT_HAS(help("--help all").out, part);
  }
  EXPECT_HAS(help("run.yaml --help").out, "Usage: octet-train");
  for (const char* name : {"optimizer.lr", "lr"}) {
    const CommandResult one = help(fmt::format("--help {}", name));
    EXPECT_TRUE(one.out.starts_with("  --optimizer.lr number\n")) << one.all();
    EXPECT_EQ(one.out.find("--", 4), std::string::npos) << one.out;
  }
  EXPECT_HAS(help("--help keep").err, "; options of that name: recompute.keep, checkpoint.keep");
  EXPECT_EQ(help("--help nonsense").err.find("nearest"), std::string::npos);
  const CommandResult unknown = help("--help dat");
  EXPECT_EQ(unknown.exit_code, 64);
  EXPECT_HAS(unknown.err, "--help dat: expected one of all, dry-run, run, init, train");
  EXPECT_HAS(unknown.err, "nearest: data");
}

TEST(CommandLine, VersionNamesCommitBuildAndLibraries) {
  for (const char* program : {"octet-train", "octet-commbench", "octet"}) {
    SCOPED_TRACE(program);
    const CommandResult r = run_command(fmt::format("{}/{} --version", OCTET_BIN_DIR, program));
    EXPECT_EQ(r.exit_code, 0) << r.err;
    EXPECT_TRUE(r.out.starts_with(std::string(program) + " 0.")) << r.out;
    for (const char* line : {"\ncommit     ", "\nbuilt      ", "\ndevices    cpu", "\nlibraries  MPICH "}) {
      EXPECT_HAS(r.out, line);
    }
  }
}

TEST(CommandLine, PrintedConfigurationIsTheSameForAnyLaunchAndReadsBack) {
  const std::string words = "run.yaml --precision float8 --optimizer.lr 0.125 --print-config";
  const CommandResult alone = in_workplace(octet_train + " " + words);
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_EQ(alone.err, "");
  for (const char* part : {"precision: float8\n", "  lr: 0.125\n", "  global_batch: 12\n", "  tp: 1\n"})
    EXPECT_HAS(alone.out, part);
  EXPECT_EQ(in_workplace(launched(3, words)).out, alone.out);
  write_bytes(workplace() / "printed.yaml", alone.out);
  EXPECT_EQ(in_workplace(octet_train + " printed.yaml --print-config").out, alone.out);
}

TEST(CommandLine, PrintingAConfigurationChecksIt) {
  const CommandResult pipeline = in_workplace(octet_train + " run.yaml --parallel.pp_chunks 2 --print-config");
  EXPECT_EQ(pipeline.exit_code, 64);
  EXPECT_HAS(pipeline.err, "1f1b has one stage a rank");
  const CommandResult r = in_workplace(octet_train + " run.yaml --train.steps 0 --print-config");
  EXPECT_EQ(r.exit_code, 64);
  EXPECT_EQ(r.out, "");
  EXPECT_HAS(r.err, "train.steps = 0");
}

TEST(CommandLine, OptionsOfADryRunNeedOne) {
  for (const std::string option : {"--ranks", "--rank", "--cluster", "--cluster.gpus.per_node"}) {
    const CommandResult r = in_workplace(fmt::format("{} run.yaml --print-config {}=4", octet_train, option));
    EXPECT_EQ(r.exit_code, 64) << r.all();
    EXPECT_HAS(r.err, fmt::format("command line: {} is an option of a dry run, expected --dry-run too", option));
  }
  EXPECT_HAS(in_workplace(octet_train + " run.yaml --print-config --rangs 4").err, "unknown option --rangs");
}

TEST(CommandLine, StartsWithoutALauncher) {
  const std::string directory = new_run_directory();
  const TrainedRun alone{
      in_workplace(octet_train + " run.yaml --precision bf16 --train.micro_batch 1 --run.dir " + directory), directory};
  EXPECT_EQ(alone.result.exit_code, 0) << alone.result.err;
  EXPECT_EQ(alone.losses(), finished(1, "--precision bf16 --train.micro_batch 1").losses());
}

/// Records of a TensorBoard file by the lengths in their frames; -1 where the last one is cut off.
std::int64_t records_in(const std::string& bytes) {
  std::int64_t records = 0;
  std::size_t at = 0;
  for (; at + 16 <= bytes.size(); ++records) {
    std::uint64_t length = 0;
    std::memcpy(&length, &bytes[at], sizeof length);
    at += 16 + length;
  }
  return at == bytes.size() ? records : -1;
}

TEST(CommandLine, EventFilesStandBesideTheMetrics) {
  const TrainedRun& run = finished(2, "--train.log_every 3");
  const auto files = fs::directory_iterator(run.file("tensorboard"));
  ASSERT_EQ(std::distance(begin(files), end(files)), 1);  // rank 0's
  const std::string path = fs::directory_iterator(run.file("tensorboard"))->path();
  EXPECT_HAS(path, "/events.out.tfevents.");
  const std::string bytes = read_bytes(path);
  const auto lines = static_cast<std::int64_t>(run.metrics().size());
  EXPECT_EQ(lines, 8);                      // steps 1, 3, 6, ... 18, 20
  EXPECT_EQ(records_in(bytes), lines + 2);  // after the version and the start
  EXPECT_EQ(occurrences(bytes, "validation_loss"), 1);
  const TrainedRun off = train(1, "--train.steps 1 --run.tensorboard false");
  EXPECT_EQ(off.result.exit_code, 0) << off.result.err;
  EXPECT_FALSE(off.has("tensorboard"));
}

TEST(CommandLine, RunsAreNamedAfterTheirFileAndTheDate) {
  write_bytes(workplace() / "short/my-run.yaml",
              std::string(run_file).replace(0, std::string("model: ./tiny").size(), "model: ../tiny"));
  const CommandResult r = in_workplace(launched(2, "short/my-run.yaml --train.steps 1"));
  ASSERT_EQ(r.exit_code, 0) << r.err;
  int found = 0;
  for (const auto& entry : fs::directory_iterator(workplace() / "runs")) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("my-run-20")) continue;
    ++found;
    EXPECT_TRUE(fs::exists(entry.path() / "metrics.jsonl"));
    EXPECT_HAS(r.err, "run directory: runs/" + name);
  }
  EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace octet::test
