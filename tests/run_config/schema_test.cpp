#include "src/run_config/options/run_options.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "src/run_config/checks/layout.h"
#include "src/run_config/options/model_file.h"
#include "tests/run_config/english_run.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_parts.h"

namespace octet {
namespace {

using test::error_of;
using test::expect_parts;

namespace fs = std::filesystem;

const std::string source = OCTET_SOURCE_DIR;

RunConfig read_file(const std::string& path) {
  Arguments arguments;
  arguments.file = path;
  Origins origins;
  return read_run_config(arguments, origins);
}

/// A file that ends with the object.
struct File {
  explicit File(const std::string& text) {
    static int number = 0;
    path = fs::path(testing::TempDir()) / fmt::format("octet-schema-{}-{}.yaml", getpid(), number++);
    std::ofstream(path) << text;
  }
  ~File() { fs::remove(path); }
  File(const File&) = delete;
  std::string path;
};

const std::string base = "model: 5m\ndata: {train: data/english}\n";

TEST(Schema, WrongFiles) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> table = {
      {"model: 5m\n", {"data.train is missing", "--data.train"}},
      {"data: {train: a}\n", {"model is missing", "--model"}},
      {base + "optimiser: {lr: 1e-3}\n", {":3: unknown key optimiser", "nearest: optimizer"}},
      {base + "checkpoints: {interval: 5}\n", {":3: unknown key checkpoints", "nearest: checkpoint"}},
      {base + "checkpoint: {interval: 5 hours}\n", {":3: checkpoint.interval = \"5 hours\"", "auto", "20 min"}},
      {base + "checkpoint: {interval: 0}\n", {":3: checkpoint.interval = \"0\"", "steps"}},
      {base + "checkpoint: {interval: -1 min}\n", {":3: checkpoint.interval = \"-1 min\"", "min"}},
      {base + "checkpoint: {interval: [5]}\n", {":3: checkpoint.interval = a list"}},
      {base + "checkpoint: {keep: 0}\n", {":3: checkpoint.keep = 0", ">= 1"}},
      {base + "checkpoint: {keep_every: -1}\n", {":3: checkpoint.keep_every = -1", ">= 0"}},
      {base + "checkpoint: {resume: always}\n", {":3: checkpoint.resume = \"always\"", "never, auto, must"}},
      {base + "checkpoint: {resume: must}\n", {":3: checkpoint.resume = must", "expected run.dir"}},
      {base + "checkpoint: {failure_gpu_hours: 0}\n", {":3: checkpoint.failure_gpu_hours = 0", "> 0"}},
      {base + "checkpoint: {interval: 5, failure_gpu_hours: 10}\n",
       {":3: checkpoint.failure_gpu_hours = 10", "no effect with checkpoint.interval = 5"}},
      {base + "checkpoint: {interval: off, test_write: true}\n",
       {":3: checkpoint.test_write = true", "no effect with checkpoint.interval = off"}},
      {base + "checkpoint: {interval: 5, max_age: 2 hours}\n",
       {":3: checkpoint.max_age = \"2 hours\"", "expected", "20 min"}},
      {base + "checkpoint: {interval: off, max_age: 20}\n",
       {":3: checkpoint.max_age = \"20\"", "no effect with checkpoint.interval = off"}},
      {base + "train: {slow_rank_every: 0, slow_rank_factor: 2}\n",
       {":3: train.slow_rank_factor = 2", "no effect with train.slow_rank_every = 0"}},
      {base + "device: cuda\ncpu: {gemm: f32}\n", {":4: cpu.gemm = f32", "no effect with device = cuda"}},
      {base + "checkpoint: {allow_changes: [run.seed]}\n",
       {":3: checkpoint.allow_changes = \"run.seed\"", "train.steps, data.changes", "optimizer, schedule, float8"}},
      {base + "train: {max_wall_time: 1:30}\n", {":3: train.max_wall_time = \"1:30\"", "H:MM:SS"}},
      {base + "train: {max_wall_time: -5}\n", {":3: train.max_wall_time = \"-5\"", "minutes such as 90"}},
      {base + "comm: {checkpoint_timeout_seconds: 0}\n", {":3: comm.checkpoint_timeout_seconds = 0", "> 0"}},
      {base + "recomputing: {mode: full}\n", {":3: unknown key recomputing"}},
      {base + "recompute: {mode: some}\n", {":3: recompute.mode = \"some\"", "none, full, selective"}},
      {base + "recompute: {every: 2}\n", {":3: recompute.every = 2", "no effect with recompute.mode = none"}},
      {base + "recompute: {preset: ffn}\n", {":3: recompute.preset = ffn", "expected mode selective"}},
      {base + "recompute: {mode: full, keep: [q]}\n", {":3: recompute.keep = \"q\"", "expected mode selective"}},
      {base + "recompute: {mode: selective}\n", {":3: recompute.mode = selective", "expected recompute.preset, or"}},
      {base + "recompute: {mode: selective, preset: ffn, keep: [q]}\n", {":3: recompute.keep = \"q\"", "one of them"}},
      {base + "recompute: {mode: selective, preset: attention}\n",
       {":3: recompute.preset = \"attention\"", "elementwise, ffn, linears"}},
      {base + "recompute: {mode: selective, keep: [q, upp]}\n", {":3: recompute.keep = \"upp\"", "nearest: up"}},
      {base + "recompute: {mode: selective, keep: [attention_cast]}\n",
       {":3: recompute.keep = \"attention_cast\"", "attention.wo is not float8"}},
      {base +
           "recompute: {mode: selective, keep: [attention_input, q, k, v, attention_output, residual, ffn_input, gate, "
           "up, ffn_product]}\n",
       {":3: recompute.keep = \"attention_input\"", "nothing would be recomputed"}},
      {base + "recompute: {mode: full, every: 0}\n", {":3: recompute.every = 0", ">= 1"}},
      {base + "recompute: {mode: full, every: 100}\n",
       {":3: recompute.every = 100", "fewer than two of", "expected at most"}},
      {base + "train: {step: 5}\n", {":3: unknown key train.step", "nearest: train.steps"}},
      {base + "train: {steps: 5}\ntrain: {steps: 6}\n", {":4: train is given twice", "line 3"}},
      {base + "train:\n  steps: 0\n", {":4: train.steps = 0", "integer >= 1", "steps"}},
      {base + "train: {steps: many}\n", {":3: train.steps = \"many\"", "decimal integer"}},
      {base + "train: {global_batch: 9, micro_batch: 2}\n",
       {":3: train.global_batch = 9", "multiple", "micro_batch = 2"}},
      {base + "train: {seq_len: 65536, global_batch: 32768, micro_batch: 32768}\n",
       {":3: train.micro_batch = 32768", "train.seq_len = 65536", "2147483648 tokens", "at most 2147483647"}},
      {base + "train: {validate_every: 5}\n"
              "optimizer: {lr: -1}\n",
       {":4: optimizer.lr = -1", ">= 0"}},
      {base + "optimizer: {lr: .nan}\n", {":3: optimizer.lr = \".nan\"", "finite number"}},
      {base + "optimizer: {beta1: 1}\n", {":3: optimizer.beta1 = 1", ">= 0, < 1"}},
      {base + "optimizer: {beta2: -0.1}\n", {":3: optimizer.beta2 = -0.1", ">= 0, < 1"}},
      {base + "optimizer: {eps: 0}\n", {":3: optimizer.eps = 0", ">= 1e-30"}},
      {base + "optimizer: {clip_norm: -1}\n", {":3: optimizer.clip_norm = -1", ">= 0"}},
      {base + "schedule: {kind: cosin}\n",
       {":3: schedule.kind = \"cosin\"", "constant, wsd, cosine", "nearest: cosine"}},
      {base + "schedule: {warmup_steps: 1001}\n", {":3: schedule.warmup_steps = 1001", "train.steps = 1000"}},
      {base + "schedule: {warmup_steps: 600, decay_steps: 500}\n",
       {":3: schedule.decay_steps = 500", "600", "1100", "train.steps = 1000"}},
      {base + "schedule: {kind: cosine, decay_steps: 5}\n",
       {":3: schedule.decay_steps = 5", "no effect", "cosine", "expected 0, or kind wsd"}},
      {base + "schedule: {kind: constant, min_lr_ratio: 0.5}\n", {":3: schedule.min_lr_ratio = 0.5", "no effect"}},
      {base + "schedule: {min_lr_ratio: 2}\n", {":3: schedule.min_lr_ratio = 2", "<= 1"}},
      {"model: 5m\ndata: {train: a, validation_fraction: 1}\n", {":2: data.validation_fraction = 1", "< 1"}},
      {"model: 5m\ndata: {train: a, validation_fraction: 0}\ntrain: {validate_every: 5}\n",
       {":3: train.validate_every = 5", "validation_fraction = 0"}},
      {"model: 5m\ndata: {train: a, loss_on_first: false}\n",
       {":2: data.loss_on_first = false", "no effect without data.document_mask = true"}},
      {"model: 5m\ndata: {train: []}\n", {":2: data.train = []", "expected at least one"}},
      {"model: 5m\ndata:\n  train: [{path: a, weight: 0}]\n", {":3: data.train: from step 1 on all weights are 0"}},
      {"model: 5m\ndata:\n  train: [{path: a, weight: -1}]\n", {":3: data.train[0].weight = -1", ">= 0"}},
      {"model: 5m\ndata:\n  train: [a, b]\n  changes: [{step: 1, weights: [1, 2]}]\n",
       {":4: data.changes[0].step = 1", ">= 2"}},
      {"model: 5m\ndata:\n  train: [a, b]\n  changes: [{step: 9, weights: [1, 2, 3]}]\n",
       {":4: data.changes[0].weights has 3 numbers; expected 2"}},
      {"model: 5m\ndata:\n  train: [a, b]\n  changes: [{step: 9, weights: [1, x]}]\n",
       {":4: data.changes[0].weights[1] = \"x\"", "number"}},
      {"model: 5m\ndata:\n  train: [a, b]\n  changes: [{step: 9}]\n", {"data.changes[0]", "weights"}},
      {"model: 5m\ndata:\n  train: [{path: a, share: 2}]\n", {":3: unknown key data.train[0].share", "path"}},
      {"model: 5n\ndata: {train: a}\n", {":1: model = \"5n\"", "nearest: 5m", "405b"}},
      {"model: ./none.yaml\ndata: {train: a}\n", {":1: model = \"./none.yaml\"", "none.yaml"}},
      {base + "precision: fp8\n", {":3: precision = \"fp8\"", "fp32, bf16, float8", "nearest: float8"}},
      {base + "cuda: {deterministic: true}\n", {":3: cuda.deterministic = true", "no effect with device = cpu"}},
      {base + "train: {health_seconds: 5}\n", {":3: train.health_seconds = 5", "no effect with device = cpu"}},
      {base + "train: {health_seconds: -1}\n", {":3: train.health_seconds = -1", ">= 0"}},
      {base + "cuda: {gemm: best}\n", {":3: cuda.gemm = \"best\"", "auto, heuristic, timed"}},
      {base + "cuda: {gemm_plans: file}\n", {":3: cuda.gemm_plans = file", "no effect with device = cpu"}},
      {base + "cuda: {graphs: true}\n", {":3: cuda.graphs = true", "no effect with device = cpu"}},
      {base + "device: gpu\n", {":3: device = \"gpu\"", "cpu, cuda"}},
      {base + "float8: {recipe: rowwize}\n",
       {":3: float8.recipe = \"rowwize\"", "tensorwise, rowwise, rowwise_with_gw_hp, delayed", "nearest: rowwise"}},
      {base + "float8: {recipe: rowwise, all_gather: true}\nprecision: float8\n",
       {":3: float8.all_gather = true", "recipe rowwise casts weights after they are gathered", "auto or false"}},
      {base + "float8: {recipe: rowwise_with_gw_hp, all_gather: true}\nprecision: float8\n",
       {":3: float8.all_gather = true", "recipe rowwise_with_gw_hp casts", "recipe tensorwise or delayed"}},
      {base + "float8: {all_gather: 1}\n", {":3: float8.all_gather = \"1\"", "auto, true, false"}},
      {base + "float8: {round_scales_to_power_of_two: 1}\n",
       {":3: float8.round_scales_to_power_of_two = \"1\"", "auto, true, false"}},
      {base + "precision: float8\nfloat8: {delayed_history: 4}\n",
       {":4: float8.delayed_history = 4", "no effect with float8.recipe = tensorwise"}},
      {base + "precision: float8\nfloat8: {delayed_algorithm: most_recent}\n",
       {":4: float8.delayed_algorithm = most_recent", "no effect"}},
      {base + "precision: float8\nfloat8: {delayed_margin: 1}\n", {":4: float8.delayed_margin = 1", "no effect"}},
      {base + "float8: {recipe: delayed, delayed_history: 0}\n", {":3: float8.delayed_history = 0", ">= 1"}},
      {base + "precision: float8\nfloat8: {recipe: delayed, filter_small_kn: true}\n",
       {":4: float8.filter_small_kn = true", "no measured limits for recipe delayed"}},
      {base + "precision: float8\nfloat8: {recipe: rowwise_with_gw_hp, filter_small_kn: true}\n",
       {":4: float8.filter_small_kn = true", "no measured limits for recipe rowwise_with_gw_hp"}},
      {base + "float8: {accumulate: hopper_quick}\n",
       {":3: float8.accumulate = \"hopper_quick\"", "fp32, hopper, hopper_fast, hopper_slow"}},
      {base + "device: cuda\nprecision: float8\nfloat8: {accumulate: hopper}\n",
       {":5: float8.accumulate = hopper", "the GPU's tensor cores", "expected fp32 with device = cuda"}},
      {base + "precision: float8\nfloat8: {fast_accumulate: all}\n",
       {":4: float8.fast_accumulate = all", "no effect with device = cpu and float8.accumulate = fp32"}},
      {base + "precision: float8\nfloat8: {fast_accumulate: all, accumulate: hopper_slow}\n",
       {":4: float8.fast_accumulate = all", "float8.accumulate = hopper_slow; expected forward, or accumulate hopper"}},
      {base + "precision: float8\nfloat8: {keep_transposed_weights: true}\n",
       {":4: float8.keep_transposed_weights = true", "no effect with device = cpu", "expected auto or false"}},
      {base + "precision: float8\ndevice: cuda\nfloat8: {keep_transposed_weights: true, recipe: rowwise}\n",
       {"float8.keep_transposed_weights = true", "recipe rowwise casts weights where a GEMM reads them"}},
      {base + "float8: {fast_accumulate: backward}\n", {":3: float8.fast_accumulate = \"backward\"", "forward, all"}},
      {base + "float8: {bf16_linears: [attention.wx]}\n",
       {":3: float8.bf16_linears = \"attention.wx\"", "nearest: attention.w"}},
      {base + "float8: {bf16_linears: [norm.weight]}\n", {":3: float8.bf16_linears = \"norm.weight\"", "layers.N."}},
      {base + "float8: {bf16_first_layers: -1}\n", {":3: float8.bf16_first_layers = -1", ">= 0"}},
      {base + "precision: float8\nfloat8: {bf16_first_layers: 2, bf16_last_layers: 9}\n",
       {":3: precision = float8", "no linear is left", "bf16_last_layers 9 of 6", "expected precision bf16"}},
      {base + "precision: float8\nfloat8: {filter_small_kn: true}\n",
       {":3: precision = float8", "no linear is left", "filter_small_kn true"}},
      {base + "precision: float8\ntrain: {seq_len: 100}\n", {":3: precision = float8", "1 x train.seq_len 100), and"}},
      {base + "parallel: {tp: 3}\n", {":3: parallel.tp = 3", "does not divide heads"}},
      {base + "parallel: {tp_keep_gathered: true}\n", {"parallel.tp_keep_gathered = true", "no effect"}},
      {base + "parallel: {cp: 2}\n", {":3: parallel.cp = 2", "not available yet"}},
      {base + "parallel: {pp: 7}\n", {":3: parallel.pp = 7", "7 stages", "has 6 blocks"}},
      {base + "parallel: {dp_shard: -1}\n", {":3: parallel.dp_shard = -1", ">= 0"}},
      {base + "run: {seed: -1}\n", {":3: run.seed = \"-1\"", "from 0"}},
      {base + "comm: {timeout_seconds: 0}\n", {":3: comm.timeout_seconds = 0", "> 0", "seconds"}},
      {base + "comm: {start_timeout_seconds: 0}\n", {":3: comm.start_timeout_seconds = 0", "> 0", "seconds"}},
      {base + "cpu: {gemm: fp16}\n", {":3: cpu.gemm = \"fp16\"", "auto, f32, bf16"}},
      {"", {"empty"}},
      {"model: [\n", {"no valid YAML"}},
  };
  for (const auto& [text, parts] : table) {
    SCOPED_TRACE(text);
    const File file(text);
    expect_parts(error_of([&] { read_file(file.path); }), parts);
  }
}

TEST(Schema, PrintedConfigurationsReadBack) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(source + "/configs/runs")) {
    SCOPED_TRACE(entry.path());
    RunConfig first = read_file(entry.path());
    first.seed = UINT64_MAX;
    const File printed(to_yaml(first));
    const RunConfig second = read_file(printed.path);
    EXPECT_EQ(to_yaml(second), to_yaml(first));
    EXPECT_NE(to_yaml(first).find("  eps: 1.0e-08\n"), std::string::npos) << "no number to YAML 1.1 without a point";
    EXPECT_EQ(to_yaml(second.model), to_yaml(first.model));
    EXPECT_EQ(second.seed, UINT64_MAX);
    ++files;
  }
  EXPECT_EQ(files, 6);
}

TEST(Schema, EnglishRunIsWhatItSays) {
  const RunConfig c = english_run({{"precision", "float8"}});
  EXPECT_EQ(c.precision, Precision::float8);
  EXPECT_EQ(c.model.name, "5m");
  EXPECT_EQ(c.train.steps * c.train.global_batch * c.train.seq_len, 512000);
  EXPECT_EQ(c.data.train.size(), 1u);
  EXPECT_EQ(c.data.train[0].path, "data/english");
  for (const std::int64_t ranks : {1, 2, 4}) EXPECT_EQ(resolve_layout(c, ranks).dp_shard, ranks);
}

TEST(Schema, ConfigurationPageIsCurrent) {
  std::ifstream file(source + "/docs/configuration.md");
  std::ostringstream page;
  page << file.rdbuf();
  std::string text = page.str();
  while (text.ends_with("\n\n")) text.pop_back();  // from a printer that ends its lines itself
  EXPECT_TRUE(text == reference_page()) << "run: build/cpu/bin/octet-train --print-reference > docs/configuration.md";
}

}  // namespace
}  // namespace octet
