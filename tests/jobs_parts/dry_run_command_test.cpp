// octet-train --dry-run: what it prints, writes and refuses.
#include "jobs/dry_run/dry_run_command.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "jobs/dry_run/dry_run_text.h"
#include "jobs/train/answers.h"
#include "kernels/cpu/gemm/gemm_input.h"
#include "src/base/error.h"
#include "src/cluster/profile.h"
#include "src/metrics/peak.h"
#include "tests/data/support.h"
#include "tests/support/error_of.h"

namespace octet {
namespace {

using test::read_bytes;

const std::string run_8b = OCTET_SOURCE_DIR "/configs/runs/llama-8b.yaml",
                  run_405b = OCTET_SOURCE_DIR "/configs/runs/llama-405b.yaml";

std::string dry(const std::string& run, const std::vector<std::string>& options) {
  std::vector<std::string> words{"octet-train", run, "--dry-run"};
  words.insert(words.end(), options.begin(), options.end());
  EXPECT_TRUE(asks_for_dry_run(words));
  return dry_run_text(words, answer);
}

std::string refusal(const std::string& run, const std::vector<std::string>& options) {
  return test::error_of([&] { dry(run, options); });
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(DryRunCommand, ShowsPlanCollectivesAndTimelineOfARunOnManyGpus) {
  const std::string text = dry(run_405b, {"--ranks", "512", "--rank=511", "--cluster", "dgx-h100-infiniband"});
  for (const char* part :
       {"rank 511 of 512, dp_replicate 1 x dp_shard ", "\nzero 3: weights gathered and let go around each use\n",
        "memory plan:", "parameters", "NCCL, estimated", " GiB of one ",
        "collectives of a step:", "all_gather      e4m3", "timeline of a step", "exposed communication",
        "TFLOP/s a rank at most", "\na checkpoint: 4535.8 GiB in all; the last 3 stay\n",
        "\n3,000 steps of 1,048,576 tokens: 3,145,728,000 tokens in at least "}) {
    EXPECT_TRUE(says(text, part)) << part << "\n" << text;
  }
}

TEST(DryRunCommand, ShowsTheStagesOfAPipelineAndWhatTheyWaitFor) {
  const std::string run = OCTET_SOURCE_DIR "/configs/runs/llama-405b-pp.yaml";
  const std::string text = dry(run, {"--ranks", "512", "--rank=448", "--cluster", "dgx-h100-infiniband"});
  for (const char* part : {"pipeline: 16 stages of 7, 8, 8, ", "7 blocks, 2 a rank, interleaved, 64 micro-batches",
                           "memory of the pipeline's ranks:", "pp_up              8  send            bf16",
                           "pp_down            8  recv ", "that was rank 448 as if it waited for no other stage",
                           "in whose passes ranks wait 5.", "TFLOP/s a rank at most"}) {
    EXPECT_TRUE(says(text, part)) << part << "\n" << text;
  }
  const std::size_t most = text.find("  the most\n"), fit = text.find(" GiB of one H100 SXM: fits");
  EXPECT_LT(most, fit) << "it is that rank which has to fit, not the one that is shown";
  const auto of_first = dry(run, {"--ranks", "512", "--cluster", "dgx-h100-infiniband"});
  EXPECT_TRUE(says(of_first, text.substr(fit - 12, 12))) << of_first;
}

TEST(DryRunCommand, ARunThatSavesNothingHasNoCheckpoints) {
  const std::string text = dry(run_405b, {"--ranks", "512", "--gpu", "H100", "--checkpoint.interval", "off"});
  EXPECT_TRUE(says(text, "\nno checkpoints: checkpoint.interval is off\n")) << text;
}

TEST(DryRunCommand, PrintsTheExampleOfTheDocumentation) {
  const std::string page = read_bytes(OCTET_SOURCE_DIR "/docs/dry-run.md");
  const std::string command =
      "$ octet-train configs/runs/llama-405b.yaml --dry-run --ranks 512 --cluster "
      "dgx-h100-infiniband\n";
  const std::size_t begin = page.find(command);
  ASSERT_NE(begin, std::string::npos);
  const std::size_t shown = begin + command.size();
  EXPECT_EQ(page.substr(shown, page.find("```", shown) - shown),
            dry(run_405b, {"--ranks", "512", "--cluster", "dgx-h100-infiniband"}))
      << "put what the command prints into the page";
}

/// Of a pipeline the page shows the first line and the last ones of what comes behind the first rank's.
TEST(DryRunCommand, PrintsThePipelineOfTheDocumentation) {
  const std::string page = read_bytes(OCTET_SOURCE_DIR "/docs/dry-run.md");
  const std::string text =
      dry(OCTET_SOURCE_DIR "/configs/runs/llama-405b-pp.yaml", {"--ranks", "512", "--cluster", "dgx-h100-infiniband"});
  std::size_t at = page.find("that was rank 0 as if it waited for no other stage");
  ASSERT_NE(at, std::string::npos);
  for (const std::size_t end = page.find("```", at); at < end;) {
    const std::string line = page.substr(at, page.find('\n', at) + 1 - at);
    at += line.size();
    EXPECT_TRUE(says(line, "              ...") || says(text, line)) << line << "\n" << text;
  }
}

/// docs/parallelism.md shows them, and the command.
TEST(DryRunCommand, DrawsTheSchedulesOfTheDocumentation) {
  const test::TempFolder folder;
  for (const auto& [order, chunks] : {std::pair{"1f1b", "1"}, {"interleaved", "2"}, {"zb-h1", "1"}}) {
    const std::string path = folder / "schedule.svg";
    dry(OCTET_SOURCE_DIR "/configs/runs/llama-405b-pp.yaml",
        {"--ranks", "32", "--parallel.pp", "4", "--train.global_batch", "8", "--recompute.mode", "none",
         "--parallel.pp_schedule", order, "--parallel.pp_chunks", chunks, "--schedule", path});
    EXPECT_EQ(read_bytes(path), read_bytes(fmt::format("{}/docs/schedules/{}.svg", OCTET_SOURCE_DIR, order))) << order;
  }
}

/// Where weights stay gathered and there is room: a byte for each weight that feeds a GEMM in 8 bits.
TEST(DryRunCommand, KeepsTransposedWeightsWhereThereIsRoom) {
  const std::string kept = "with transposed copies of 8-bit weights";
  const std::vector<std::string> one{"--ranks=1", "--gpu=H100"};
  const auto with = [&](std::vector<std::string> more, const char* model = "--model=1.8b") {
    more.emplace_back(model);
    more.insert(more.end(), one.begin(), one.end());
    return dry(run_8b, more);
  };
  EXPECT_TRUE(says(with({"--parallel.zero=auto"}), kept));
  EXPECT_TRUE(says(with({"--parallel.zero=2"}), kept));
  EXPECT_FALSE(says(with({}), kept)) << "the file frees them";
  EXPECT_FALSE(says(with({"--parallel.zero=2", "--float8.keep_transposed_weights=false"}), kept));
  EXPECT_FALSE(says(with({"--parallel.zero=2"}, "--model=8b"), kept)) << "too large without";
}

TEST(DryRunCommand, ShowsHowTheMixtureChanges) {
  std::vector<std::string> words{"--ranks=8", "--data.train=[a, b]", "--data.changes=[{step: 5, weights: [1, 3]}]"};
  const std::string text = dry(run_8b, words);
  EXPECT_TRUE(says(text, "data: from step 5 on: a 50.00 -> 25.00 %, b 50.00 -> 75.00 %\n")) << text;
  words.back() = "--data.changes=[{step: 5, weights: [1]}]";
  EXPECT_TRUE(says(refusal(run_8b, words), "data.changes[0].weights has 1 number(s)"));
}

TEST(DryRunCommand, KnowsNoTimelineWithoutAGpu) {
  EXPECT_TRUE(says(dry(run_8b, {"--ranks", "8"}), "no timeline: name a GPU with --gpu"));
  EXPECT_TRUE(says(dry(run_8b, {"--ranks", "8", "--device", "cpu"}), "memory plan:"));
  EXPECT_TRUE(says(dry(run_8b, {"--ranks", "4", "--device", "cpu", "--cluster", "local"}), "GiB of one node: "));
  const std::string h200 = dry(run_8b, {"--ranks=8", "--gpu=H200"});
  EXPECT_TRUE(says(h200, " GiB of one H200: fits")) << h200;
}

TEST(DryRunCommand, SaysThatItDoesNotKnowTheDocuments) {
  const std::string line =
      "data.document_mask: attention is counted across documents; within them it takes less by cuDNN, more by Octet's "
      "own "
      "kernels\n";
  const std::vector<std::string> eight{"--ranks=8", "--gpu=H100"};
  EXPECT_FALSE(says(dry(run_8b, eight), "document_mask"));
  EXPECT_TRUE(says(dry(run_8b, {"--ranks=8", "--gpu=H100", "--data.document_mask=true"}), line));
}

TEST(DryRunCommand, ARunThatIsTooLargeDoesNotFit) {
  EXPECT_TRUE(says(dry(run_405b, {"--ranks", "8", "--gpu", "H100"}), "does NOT fit"));
}

TEST(DryRunCommand, WritesTraceAndTimeline) {
  const test::TempFolder folder;
  const std::string trace = folder / "trace.jsonl", timeline = folder / "timeline.json";
  dry(run_8b, {"--ranks", "8", "--gpu", "H100", "--trace", trace, "--timeline", timeline});
  EXPECT_TRUE(says(read_bytes(trace), R"("operation":"reduce_scatter","group":"dp_shard","ranks":8)"));
  EXPECT_TRUE(says(read_bytes(trace), R"("operation": "gemm", "unit": "block.31")"));
  const auto events = nlohmann::json::parse(read_bytes(timeline))["traceEvents"];
  EXPECT_GT(events.size(), 1000u);
}

/// With overlap a block's gather runs beside the one before, and its first kernel that reads a weight waits for it.
TEST(DryRunCommand, WritesWhatWaitsForWhat) {
  const test::TempFolder folder;
  const std::string path = folder / "order.jsonl";
  dry(run_8b, {"--ranks", "8", "--gpu", "H100", "--parallel.overlap", "true", "--order", path});
  std::map<std::int64_t, nlohmann::json> pieces;
  std::istringstream lines(read_bytes(path));
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json piece = nlohmann::json::parse(line);
    pieces.emplace(piece["number"], piece);
  }
  ASSERT_GT(pieces.size(), 1000u);
  const auto in_block = [](const nlohmann::json& piece) {
    return piece["part"] == "forward" && piece["unit"].get<std::string>().starts_with("block.");
  };
  const std::int64_t model = std::ranges::find_if(pieces, [&](const auto& p) {
                               return in_block(p.second) && p.second["name"] == "add_rmsnorm_forward";
                             })->second["stream"];
  EXPECT_EQ(model, 0);
  for (const auto& [number, piece] : pieces) {
    EXPECT_EQ(piece.contains("flops"),
              piece["name"] == "gemm" || piece["name"].get<std::string>().starts_with("attention"))
        << piece;
    EXPECT_GE(piece.value("bytes", std::int64_t{-1}), 0) << piece;
  }
  int gathers = 0, waits = 0;
  for (const auto& [number, piece] : pieces) {
    if (piece["name"] == "all_gather" && piece.value("group", "").starts_with("dp_shard") && in_block(piece)) {
      ++gathers;
      EXPECT_NE(piece["stream"], model);
    }
    for (const std::int64_t before : piece.value("after", std::vector<std::int64_t>{})) {
      EXPECT_LT(before, number) << "waits for what comes later";
      if (!pieces.contains(before)) continue;  // of the step before
      EXPECT_NE(pieces[before]["stream"], piece["stream"]);
      waits += in_block(piece) && piece["stream"] == model && pieces[before]["name"] == "all_gather" ? 1 : 0;
    }
  }
  EXPECT_EQ(gathers, 32);
  EXPECT_EQ(waits, 32) << "each block waits once for its own weights";
}

/// The plan is that of the run, whose products need other workspaces in f32 than in bf16.
TEST(DryRunCommand, TakesTheProductsOfTheCpuThatTheRunWouldTake) {
  const auto workspace = [](const std::string& gemm) {
    const std::string text = dry(OCTET_SOURCE_DIR "/configs/runs/english-5m.yaml",
                                 {"--ranks", "1", "--precision", "float8", "--cpu.gemm", gemm});
    const std::size_t at = text.find("workspace");
    if (at == std::string::npos) return "none in " + text;
    return text.substr(at, text.find('\n', at) - at);
  };
  const bool bf16 = cpu::choose_gemm_input(cpu::read_cpu_features()) == cpu::GemmInput::bf16;
  const std::string in_f32 = workspace("f32"), in_bf16 = workspace("bf16");
  EXPECT_NE(in_f32, in_bf16) << "on every processor";
  EXPECT_EQ(workspace("auto"), bf16 ? in_bf16 : in_f32);
  EXPECT_EQ(cpu::gemm_input() == cpu::GemmInput::bf16, bf16) << "as the others of this program have it";
}

/// A run of fewer ranks than a node has GPUs takes the memory of these alone.
TEST(DryRunCommand, ANodeHasTheRanksOfTheRun) {
  const auto needs = [](const std::vector<std::string>& more) {
    std::vector<std::string> words{"--cluster", "grand-teton", "--train.global_batch", "16"};
    words.insert(words.end(), more.begin(), more.end());
    const std::string text = dry(run_8b, words);
    const std::size_t end = text.find(" GiB of one node"), of = text.rfind(" of ", end);
    return std::stod(text.substr(text.rfind("  ", of)));
  };
  const double one = needs({"--ranks", "1"});
  EXPECT_NEAR(needs({"--ranks", "16", "--ranks-per-node", "4"}) / needs({"--ranks", "16", "--ranks-per-node", "2"}), 2,
              0.02);
  EXPECT_GT(one, 0);
  EXPECT_LT(one, 1.2 * needs({"--ranks", "8"})) << "eight ranks save the same checkpoint";
}

/// A sheet and a profile of the same GPU are of one opinion.
TEST(DryRunCommand, AGpuHasTheMemoryOfTheProfilesThatHaveIt) {
  for (const char* name : {"dgx-h100-infiniband", "grand-teton", "ibm-roce"}) {
    const ClusterProfile profile = read_profile(name);
    const auto sheet = gpu_sheet(profile.gpus.type);
    ASSERT_TRUE(sheet) << profile.gpus.type;
    EXPECT_EQ(sheet->memory_gib, profile.gpus.memory_gib) << name;
  }
}

/// Three communicators of 8 GPUs; their sizes are those of tests/comm/nccl_footprint_test.cpp.
TEST(DryRunCommand, NcclTakesWhatTheVariablesOfTheJobSay) {
  const auto nccl = [](const std::vector<std::string>& more) {
    std::vector<std::string> words{"--ranks", "8"};
    words.insert(words.end(), more.begin(), more.end());
    const std::string text = dry(run_8b, words), mark = "NCCL, estimated";
    return std::stod(text.substr(text.find(mark) + mark.size()));
  };
  EXPECT_EQ(nccl({"--cluster", "ibm-roce"}), 2642);
  const std::string connect = "[{name: NCCL_RUNTIME_CONNECT, value: \"0\", reason: a test}]";
  EXPECT_EQ(nccl({"--cluster", "ibm-roce", "--cluster.environment.variables", connect}), 3 * 1606)
      << "all are connected when they are made";
  EXPECT_EQ(nccl({"--cluster", "aws-p5-efa"}), 4658) << "larger buffers and chunks";
  EXPECT_EQ(nccl({"--cluster", "aws-p5-efa", "--cluster.environment.variables", "[]"}), 2642);
  EXPECT_EQ(nccl({"--gpu", "H100"}), 2642);
  setenv("NCCL_RUNTIME_CONNECT", "0", 1);
  const double of_this_shell = nccl({"--gpu", "H100"}), inherited = nccl({"--cluster", "ibm-roce"});
  unsetenv("NCCL_RUNTIME_CONNECT");
  EXPECT_EQ(of_this_shell, 3 * 1606);
  EXPECT_EQ(inherited, 3 * 1606) << "the job has what the shell that submits has";
}

TEST(DryRunCommand, LinksBetweenNodesAreThoseOfTheRanksThatShareANode) {
  const auto step = [](const char* ranks_per_node) {
    const std::string text = dry(run_8b, {"--ranks", "8", "--gpu", "H100", "--ranks-per-node", ranks_per_node});
    const auto at = text.find("exposed communication");
    return std::stod(text.substr(at + std::string("exposed communication").size()));
  };
  EXPECT_LT(step("8"), step("4")) << "one node";
  EXPECT_LT(step("4"), step("2")) << "the ring goes through the cards of all ranks of a node";
  EXPECT_LT(step("2"), step("1"));
}

TEST(DryRunCommand, SaysWhatItNeedsOfOtherActions) {
  EXPECT_TRUE(says(dry_run_text({"octet-train", "--dry-run", "--help"}, answer), "--ranks"));
  EXPECT_TRUE(says(dry_run_text({"octet-train", run_8b, "--dry-run", "--print-config"}, answer), "seq_len: 8192"));
}

TEST(DryRunCommand, RefusesByName) {
  EXPECT_TRUE(says(refusal(run_8b, {}), "--ranks N"));
  EXPECT_TRUE(says(refusal(run_8b, {"--ranks", "0"}), "ranks"));
  EXPECT_TRUE(says(refusal(run_8b, {"--ranks", "8", "--rank", "8"}), "--rank 8: expected one of 0 to 7"));
  EXPECT_TRUE(says(refusal(run_8b, {"--ranks", "8", "--gpu", "V100"}), "--gpu V100: expected one of"));
  EXPECT_TRUE(
      says(refusal(run_8b, {"--ranks", "8", "--gpu", "H100", "--cluster", "grand-teton"}), "expected one of them"));
  EXPECT_TRUE(says(refusal(run_8b, {"--ranks", "8", "--cluster", "nowhere"}), "nearest"));
  EXPECT_TRUE(says(refusal(run_8b, {"--ranks", "7"}), "global_batch"));
  EXPECT_TRUE(
      says(refusal(run_8b, {"--ranks", "8", "--timeline", "t.json"}), "--timeline t.json: there is none: name a GPU"));
  EXPECT_TRUE(says(refusal(run_8b, {"--ranks", "8", "--device", "cpu", "--gpu", "H100"}), "expected --device cuda"));
  EXPECT_TRUE(says(refusal(run_8b, {"--ranks", "8", "--cluster", "local"}), "have no GPUs, expected --device cpu"));
  EXPECT_TRUE(says(refusal(run_8b, {"--ranks", "8", "--device", "cpu", "--cluster", "grand-teton"}),
                   "have 8 GPUs, expected --device cuda"));
  EXPECT_TRUE(says(refusal(run_8b, {"--rnaks", "8"}), "unknown option --rnaks; nearest: --ranks"));
  EXPECT_TRUE(says(refusal(run_8b, {"--ranks", "8", "--gpu", "A100"}), "and A100 has 8.0; expected precision bf16"));
  EXPECT_TRUE(says(refusal(run_8b, {"--ranks", "8", "--cluster", "grand-teton", "--float8.recipe", "blockwise",
                                    "--float8.all_gather", "auto", "--cluster.gpus.type", "B200"}),
                   "compute capability 9.0, and B200 has 10.0; expected another recipe"));
  EXPECT_TRUE(says(refusal(run_8b, {"--ranks", "8", "--cluster", "grand-teton", "--ranks-per-node", "16"}),
                   "have 8 GPUs, expected no more ranks"));
  EXPECT_TRUE(says(refusal(run_8b, {"--ranks", "8", "--optimizer.lrr", "1"}), "optimizer.lr"));
  EXPECT_TRUE(
      says(refusal(run_8b, {"--ranks", "8", "--trace", "/nowhere/at/all"}), "/nowhere/at/all: cannot be written"));
}

TEST(DryRunCommand, RefusesTheChoicesOfAlgorithmsThatTheRunWould) {
  const auto refused = [](std::vector<std::string> options) {
    options.insert(options.begin(), {"--ranks", "8", "--gpu", "H100"});
    return refusal(run_8b, options);
  };
  EXPECT_TRUE(says(refused({"--cuda.deterministic", "true", "--cuda.gemm", "timed"}), "cuda.gemm = timed"));
  EXPECT_TRUE(says(refused({"--cuda.deterministic", "true", "--cuda.attention", "timed"}), "cuda.attention = timed"));
  const std::string missing = refused({"--cuda.gemm", "heuristic", "--cuda.gemm_plans", "nothere"});
  EXPECT_TRUE(says(missing, "command line: cuda.gemm_plans = nothere")) << missing;
  EXPECT_TRUE(says(missing, "does not exist")) << missing;
}

}  // namespace
}  // namespace octet
