// Wrong input: one clear message, exit code 64, nothing left that looks like a run.
#include "tests/jobs/job.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  if (at == std::string::npos) throw std::runtime_error("no \"" + what + "\" in the text");
  return text.replace(at, what.size(), by);
}

class BadInput : public testing::Test {
 protected:
  /// A file of the workplace with other content; returns its name.
  static std::string write(const std::string& name, const std::string& content) {
    write_bytes(workplace() / name, content);
    return name;
  }
  static std::string run_with(const std::string& what, const std::string& by) {
    return write("bad.yaml", replaced(run_file, what, by));
  }
  static std::string model_with(const std::string& what, const std::string& by) {
    write("bad-model.yaml", replaced(tiny_model, what, by));
    return "run.yaml --model ./bad-model.yaml";
  }
  /// A pair of token files made from the good one.
  static std::string data_with(const std::string& bin, const std::string& idx) {
    write("data/bad.bin", bin);
    write("data/bad.idx", idx);
    return "run.yaml --data.train data/bad";
  }
  static std::string good(const std::string& suffix) { return read_bytes(workplace() / ("data/text." + suffix)); }

  static void expect_one_message(const CommandResult& r, const std::vector<std::string>& parts) {
    EXPECT_FALSE(r.timed_out);
    EXPECT_EQ(r.exit_code, 64) << r.all();
    EXPECT_EQ(occurrences(r.err, " E "), 1) << r.err;
    EXPECT_EQ(r.out, "");
    const std::string message = r.err.substr(std::min(r.err.size(), r.err.find(" E ")));
    for (const std::string& part : parts) EXPECT_HAS(message, part);
  }

  /// With the words after octet-train, which say no run.dir.
  static void refuses(const std::string& words, const std::vector<std::string>& parts, int ranks = 2) {
    SCOPED_TRACE(words);
    const std::string directory = new_run_directory();
    expect_one_message(in_workplace(launched(ranks, words + " --run.dir " + directory), 30), parts);
    EXPECT_FALSE(fs::exists(workplace() / directory)) << "left behind";
  }
};

/// What mpirun of Open MPI starts finds no other rank in MPICH's library.
TEST_F(BadInput, LaunchersOfAnotherMpi) {
  const std::string directory = new_run_directory();
  const std::string words = fmt::format(
      "env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 PMIX_RANK=1 {} run.yaml --run.dir {}", octet_train, directory);
  expect_one_message(in_workplace(words, 30), {"Open MPI's mpirun started 2 processes (OMPI_COMM_WORLD_SIZE=2)",
                                               "start it with MPICH's mpiexec"});
  EXPECT_FALSE(fs::exists(workplace() / directory)) << "left behind";
}

TEST_F(BadInput, ConfigurationFiles) {
  refuses(run_with("steps: 20", "step: 20"), {"bad.yaml:4: ", "unknown key train.step", "nearest: train.steps"});
  refuses(run_with("steps: 20", "steps: many"), {"bad.yaml:4: train.steps = \"many\"", "integer"});
  refuses(run_with("steps: 20", "steps: 20\n  steps: 21"), {"bad.yaml:5: train.steps is given twice", "line 4"});
  refuses(run_with("steps: 20", "steps: 0"), {"bad.yaml:4: train.steps = 0", ">= 1"});
  refuses(run_with("kind: constant", "kind: linear"), {"schedule.kind = \"linear\"", "wsd"});
  refuses(run_with("train:", "train: ["), {"bad.yaml:", "no valid YAML"});
  refuses(run_with("  train: data/text\n", "  validation_fraction: 0.1\n"), {"bad.yaml: data.train is missing"});
  refuses(write("bad.yaml", ""), {"bad.yaml: the file is empty"});
  refuses("none.yaml", {"none.yaml: cannot be read"});
  refuses("data", {"data: is a folder", "expected a YAML file"});
}

TEST_F(BadInput, CommandLines) {
  refuses("", {"model is missing", "--model"});
  refuses("run.yaml --train.stepz 4", {"unknown option --train.stepz", "nearest: --train.steps"});
  refuses("run.yaml --train.steps 1x", {"--train.steps = \"1x\"", "integer"});
  refuses("run.yaml tiny.yaml", {"two configuration files, run.yaml and tiny.yaml"});
  refuses("run.yaml --optimizer.lr -1", {"--optimizer.lr = -1", ">= 0"});
  refuses("run.yaml --optimizer.lr nan", {"--optimizer.lr = \"nan\"", "finite"});
  refuses("run.yaml --cpu.gemm fp16", {"--cpu.gemm = \"fp16\"", "auto, f32, bf16"});
  refuses("run.yaml --comm.timeout_seconds 0", {"--comm.timeout_seconds = 0", "> 0"});
  refuses("run.yaml --device cuda", {"this build has no CUDA backend", "--device cpu"});
  const std::string profile = "run.yaml --train.profile ";
  for (const std::string bad : {"on", "5", "0-3", "3-2", "2-3x", "2-3-4", "-3"}) {
    refuses(profile + bad, {"train.profile = \"" + bad + "\"", "expected off, or two steps", "such as 10-12"});
  }
  refuses(profile + "1-21 --train.steps 30", {"train.profile = \"1-21\"", "21 steps", "at most 20"});
  refuses(profile + "19-21", {"train.profile = \"19-21\"", "no step beyond train.steps = 20"});
  refuses("run.yaml --train.validate_every 5 --data.validation_fraction 0",
          {"train.validate_every = 5", "data.validation_fraction = 0"});
}

TEST_F(BadInput, Layouts) {
  refuses("run.yaml --train.global_batch 13", {"train.global_batch = 13", "2 data-parallel ranks"});
  refuses("run.yaml --train.micro_batch 5", {"train.global_batch = 12", "train.micro_batch = 5"});
  refuses("run.yaml --parallel.dp_shard 4", {"parallel.dp_shard = 4", "but the job has 2", "mpiexec -n 4"});
  refuses("run.yaml --parallel.dp_shard 1", {"parallel.dp_shard = 1", "but the job has 2"});
  refuses("run.yaml --parallel.dp_replicate 2 --parallel.gradient_wire bf16",
          {"parallel.gradient_wire = bf16", "dp_shard = 1", "precision fp32 leave fp32", "expected fp32"});
  const std::string narrow = "run.yaml --precision bf16 --parallel.gradient_wire bf16 ";
  refuses(narrow + "--parallel.dp_replicate 2 --train.micro_batch 6",
          {"parallel.gradient_wire = bf16", "dp_shard = 1", "sums over replicas are of fp32", "dp_shard above 1"});
  refuses(narrow + "--parallel.pp 2 --train.micro_batch 6", {"dp_shard = 1", "micro-batches of a pipeline"});
  refuses(
      narrow + "--parallel.tp 2 --train.micro_batch 4",
      {"dp_shard = 1", "the 3 micro-batches of a step are added up", "train.micro_batch 12, one micro-batch a step"});
  refuses(narrow + "--train.micro_batch 6",
          {"parallel.gradient_wire = bf16", "the 2 micro-batches of a step", "train.micro_batch 12"}, 1);
  refuses("run.yaml --parallel.dp_replicate 2 --parallel.overlap true",
          {"parallel.overlap = true", "dp_shard = 1", "expected auto or false"});
  refuses("run.yaml --nccl.dp_shard_max_ctas 8", {"nccl.dp_shard_max_ctas = 8", "no effect with device = cpu"});
  refuses("run.yaml --nccl.tp_max_ctas 8 --device cuda", {"nccl.tp_max_ctas = 8", "the dimension has one rank"});
  refuses("run.yaml --nccl.pp_max_ctas 8", {"nccl.pp_max_ctas = 8", "no effect with device = cpu"});
  refuses("run.yaml --nccl.pp_max_ctas 8 --device cuda", {"nccl.pp_max_ctas = 8", "the dimension has one rank"});
  refuses("run.yaml --nccl.pp_max_ctas 12 --parallel.pp 2 --train.micro_batch 6 --device cuda",
          {"nccl.pp_max_ctas = 12", "a power of two", "expected 8 or 16"});
  refuses("run.yaml --nccl.dp_shard_buffers symmetric", {"nccl.dp_shard_buffers", "no effect with device = cpu"});
  refuses("run.yaml --nccl.dp_shard_buffers symmetric --device cuda", {"nccl.dp_shard_buffers", "has one rank"}, 1);
  refuses("run.yaml --nccl.dp_shard_cta_policy zero --device cuda",
          {"nccl.dp_shard_cta_policy = zero", "nccl.dp_shard_buffers = symmetric"});
  refuses("run.yaml --nccl.tp_cta_policy zero --device cuda", {"nccl.tp_cta_policy = zero", "has not got"});
  refuses("run.yaml --nccl.dp_shard_cta_policy efficiency --device cuda",
          {"nccl.dp_shard_cta_policy = efficiency", "nccl.dp_shard_buffers = registered"});
  refuses("run.yaml --nccl.dp_replicate_cta_policy efficiency --parallel.dp_replicate 2 --device cuda",
          {"nccl.dp_replicate_cta_policy = efficiency", "has not got"});
  refuses(
      "run.yaml --nccl.dp_shard_cta_policy efficiency --nccl.dp_shard_buffers registered --nccl.tuning_file x.json "
      "--device cuda",
      {"nccl.dp_shard_cta_policy = efficiency", "no effect with nccl.tuning_file"});
  refuses("run.yaml --nccl.dp_shard_buffers registered --precision float8 --float8.all_gather false --device cuda",
          {"nccl.dp_shard_buffers = registered", "gathered in bf16", "float8.all_gather auto"});
  refuses("run.yaml --nccl.tp_min_ctas 9 --nccl.tp_max_ctas 8 --device cuda",
          {"nccl.tp_min_ctas = 9", "above nccl.tp_max_ctas = 8"});
  refuses("run.yaml --parallel.dp_replicate 3", {"parallel.dp_replicate = 3", "2 ranks"});
  refuses("run.yaml --parallel.tp 4", {"parallel.tp = 4", "does not divide kv_heads = 2", "vocab_size 256"});
  refuses("run.yaml --parallel.async_tp true", {"parallel.async_tp = true", "no effect with parallel.tp = 1"});
  refuses("run.yaml --parallel.tp 2 --parallel.async_tp true --precision float8 --float8.recipe rowwise",
          {"parallel.async_tp = true", "float8.recipe = rowwise"});
  refuses(
      "run.yaml --parallel.tp 2 --parallel.async_tp true --precision float8 --train.seq_len 16 --train.micro_batch 1",
      {"parallel.async_tp = true", "linear attention.wq, GEMM output of m 8 n 32 k 32: m = 8 (tokens of a part, ",
       "train.seq_len 32 would do, or parallel.async_tp false"});
  refuses("run.yaml --parallel.tp 2 --train.seq_len 31",
          {"parallel.tp = 2", "does not divide the tokens of a micro-batch, train.micro_batch 1 x train.seq_len 31"});
  refuses("run.yaml --parallel.tp_keep_gathered true", {"parallel.tp_keep_gathered = true", "parallel.tp = 1"});
  refuses("run.yaml --optimizer.beside_forward true --optimizer.beside_gemms all",
          {"optimizer.beside_gemms = all", "has no effect with device = cpu; expected auto"});
  refuses("run.yaml --optimizer.beside_forward true --optimizer.beside_multiprocessors 8",
          {"optimizer.beside_multiprocessors = 8", "has no effect with device = cpu; expected 0"});
  refuses("run.yaml --parallel.cp 2", {"parallel.cp = 2", "not available yet"});
  refuses("run.yaml --parallel.pp 3", {"parallel.pp = 3", "3 stages", "2 blocks"});
  refuses("run.yaml --parallel.pp 2 --parallel.dp_shard 2", {"parallel.dp_shard = 2", "pp 2 x", "but the job has 2"});
  refuses("run.yaml --parallel.pp 2 --train.micro_batch 12",
          {"command line: parallel.pp = 2", "1 micro-batch", "train.global_batch"});
  refuses("run.yaml --parallel.pp_schedule zb-h1", {"parallel.pp_schedule = zb-h1", "parallel.pp = 1"});
  refuses("run.yaml --parallel.pp 2 --parallel.pp_chunks 2", {"parallel.pp = 2: pp_chunks 2", "4 stages", "2 blocks"});
  refuses("run.yaml --parallel.pp_chunks 2", {"command line: parallel.pp_chunks = 2", "1f1b has one stage a rank"});
  refuses("run.yaml --parallel.pp 2 --parallel.pp_layout 1,1,1", {"parallel.pp_layout = 1,1,1", "3 stages"});
  refuses("run.yaml --parallel.pp 2 --parallel.pp_layout 2,2", {"parallel.pp_layout = 2,2", "has 4 blocks"});
  refuses("run.yaml --parallel.pp 2 --parallel.pp_layout 2,1,auto", {"parallel.pp_layout = 2,1,auto", "expected auto"});
  refuses("run.yaml --parallel.pp 2 --parallel.pp_layout even", {"parallel.pp_layout = even", "expected auto"});
  const std::string float8 = " --precision float8";
  refuses("run.yaml --train.seq_len 33" + float8,
          {"precision = float8", "m = 33 (tokens, train.micro_batch 1 x train.seq_len 33)", "multiples of 16",
           "train.seq_len 48 would do"});
  refuses(model_with("ffn_dim: 64", "ffn_dim: 72") + float8,
          {"linear feed_forward.w1, GEMM output of m 32 n 72 k 32: n = 72 (outputs of model bad-model)",
           "float8.bf16_linears [feed_forward.w1, feed_forward.w3, feed_forward.w2] would do, or a model of another "
           "shape"});
}

TEST_F(BadInput, Models) {
  refuses("run.yaml --model tinny", {"model = \"tinny\"", "5m", "nearest: "});
  refuses("run.yaml --model ./none.yaml", {"model = \"./none.yaml\"", "none.yaml"});
  refuses(model_with("ffn_dim: 64\n", ""), {"bad-model.yaml: ffn_dim is missing"});
  refuses(model_with("ffn_dim: 64", "fnn_dim: 64"), {"bad-model.yaml:6: unknown key fnn_dim", "nearest: ffn_dim"});
  refuses(model_with("kv_heads: 2", "kv_heads: 3"), {"heads = 4", "kv_heads = 3", "bad-model.yaml"});
  refuses(model_with("vocab_size: 256", "vocab_size: 2000000000"),
          {"this run needs", "MiB", "the device has", "parameters"});
}

TEST_F(BadInput, Data) {
  const std::string bin = good("bin"), idx = good("idx");
  refuses("run.yaml --data.train data/none", {"command line: data.train: ", "data/none.idx"});
  refuses(run_with("train: data/text", "train: data/none"), {"bad.yaml:", ": data.train: ", "data/none.idx"});
  write("data/alone.idx", idx);
  refuses("run.yaml --data.train data/alone", {"data/alone.bin"});
  refuses(data_with(bin.substr(0, bin.size() / 2), idx), {"data/bad.bin has ", "expected at least ", "data/bad.idx"});
  refuses(data_with(bin, idx.substr(0, 20)), {"data/bad.idx: 20 bytes is too short"});
  refuses(data_with(bin, idx.substr(0, idx.size() - 3)), {"data/bad.idx: ", "do not fit"});
  std::string magic = idx;
  magic[0] = 'X';
  refuses(data_with(bin, magic), {"data/bad.idx: not a Megatron index file"});
  std::string version = idx;
  version[9] = 7;
  refuses(data_with(bin, version), {"data/bad.idx: index version 7; expected 1"});
  std::string dtype = idx;
  dtype[17] = 6;
  refuses(data_with(bin, dtype), {"data/bad.idx: token dtype code 6"});
  refuses("run.yaml --train.global_batch 8000", {"data/text.bin: ", "fewer than the 8000"});
  refuses("run.yaml --train.seq_len 200000", {"data/text.bin: ", "train.seq_len 200000 needs at least 200001"});
}

TEST_F(BadInput, TokenIdsAboveTheVocabularyAreFoundBeforeTheFirstStep) {
  write_tokens(workplace() / "data/high", 200'000, TokenType::u8,
               [](std::int64_t i) { return i == 199'998 ? 100 : 7; });
  const std::string small = model_with("vocab_size: 256", "vocab_size: 100").substr(sizeof "run.yaml");
  const std::string side = workplace() / "data/high.data.json";
  const std::vector<std::string> parts = {"data.train: data/high.bin: its largest token id is 100",
                                          "at position 199998 of 200000", "expected ids from 0 to 99",
                                          "the vocab_size 100 of the model",
                                          "docs/problems.md, \"Token ids are not in the vocabulary\""};
  const auto refused = [&] {
    TrainedRun run = train(3, small + " --data.train data/high --train.steps 1");
    EXPECT_EQ(run.result.exit_code, 64) << run.result.all();
    EXPECT_EQ(occurrences(run.result.err, " E "), 1) << run.result.err;
    for (const std::string& part : parts) EXPECT_HAS(run.result.err, part);
    EXPECT_FALSE(fs::exists(workplace() / run.directory)) << "left behind";
    return run;
  };
  ASSERT_TRUE(fs::exists(side));
  EXPECT_EQ(occurrences(refused().result.all(), "scanned in"), 0);  // it was prepared by us

  // Data from elsewhere are scanned, by the ranks together. A run that is refused leaves nothing anywhere.
  fs::remove(side);
  const TrainedRun scanned = refused();
  EXPECT_EQ(occurrences(scanned.result.all(), "has token ids from 7 to 100; "), 1) << scanned.result.all();
  EXPECT_HAS(scanned.result.all(), ", not remembered");
  EXPECT_FALSE(fs::exists(side));

  // The directory of a run that begins remembers it.
  const std::string wide = model_with("vocab_size: 256", "vocab_size: 101").substr(sizeof "run.yaml") +
                           " --data.train data/high --train.steps 1 --checkpoint.interval 1";
  const TrainedRun first = train(2, wide);
  EXPECT_EQ(first.result.exit_code, 0) << first.result.all();
  EXPECT_HAS(first.result.all(), "remembered in " + first.directory + "/token-ranges/");
  const TrainedRun again = train_in(first.directory, 2, wide);
  EXPECT_EQ(again.result.exit_code, 0) << again.result.all();
  EXPECT_EQ(occurrences(again.result.all(), "scanned in"), 0) << again.result.all();
  EXPECT_FALSE(fs::exists(side));
}

TEST_F(BadInput, RunDirectories) {
  const auto refused = [](const std::string& directory, const std::vector<std::string>& parts) {
    SCOPED_TRACE(directory);
    expect_one_message(in_workplace(launched(2, "run.yaml --run.dir " + directory), 30), parts);
  };
  refused("run.yaml/below/a/file", {"run.dir = run.yaml/below/a/file", "cannot be made"});
  refused("run.yaml", {"run.dir = run.yaml"});
  refused("/proc/octet", {"run.dir = /proc/octet", "cannot be made"});
  const TrainedRun used = train(1, "--train.steps 1");
  ASSERT_EQ(used.result.exit_code, 0);
  const std::string metrics = read_bytes(used.file("metrics.jsonl")), status = read_bytes(used.file("status.json"));
  refused(used.directory, {"run.dir = " + used.directory, "holds a run already", "metrics.jsonl"});
  EXPECT_EQ(read_bytes(used.file("metrics.jsonl")), metrics);
  EXPECT_EQ(read_bytes(used.file("status.json")), status);
}

TEST_F(BadInput, AnyNumberOfRanksHasOneMessage) {
  for (const int ranks : {1, 3, 4}) refuses("run.yaml --train.steps 0", {"train.steps = 0"}, ranks);
}

TEST_F(BadInput, TasksOfSrunThatMpiSeesAsLoneRanks) {
  expect_one_message(in_workplace("env SLURM_STEP_ID=0 SLURM_NTASKS=4 SLURM_PROCID=1 " + octet_train +
                                  " run.yaml --run.dir runs/lone"),
                     {"srun --mpi=pmi2"});
  EXPECT_FALSE(fs::exists(workplace() / "runs/lone"));
}

}  // namespace
}  // namespace octet::test
