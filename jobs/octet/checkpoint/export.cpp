#include "checkpoints/hugging_face/export.h"

#include "jobs/octet/checkpoint/exported_tokenizer.h"
#include "jobs/octet/checkpoint/tool.h"
#include "jobs/octet/commands.h"
#include "src/base/log.h"
#include "src/base/options/byte_size.h"
#include "src/base/progress.h"

namespace octet::tool {
namespace {

constexpr std::string_view export_usage =
    "usage: octet checkpoint export CHECKPOINT DIR [OPTIONS]\n\n"
    "Writes the weights to the new folder DIR for LlamaForCausalLM of Hugging Face: config.json, safetensors\n"
    "files and their index. fp32 are the master weights to the bit; bf16 and fp16 are rounded to nearest even,\n"
    "half the size. A weight that is NaN or infinite, or beyond what the type holds, is refused by name. With\n"
    "--average K it is the mean of the run's newest K checkpoints, summed in double. All are verified first, and\n"
    "DIR comes into being whole or not at all. The file of the tokenizer goes with it, where the run has a copy or "
    "the\n"
    "checkpoint was imported with it.\n";

checkpoint::WeightType type_from(const std::string& name) {
  const auto type = checkpoint::weight_type_of(name);
  if (!type) throw usage_error("octet", "--dtype is {}; expected fp32, bf16 or fp16", name);
  return *type;
}

/// The checkpoints of whose weights the mean is exported, the newest first.
std::vector<OpenCheckpoint> open_inputs(const std::string& path, int average, int threads) {
  const auto is_exported = [](const checkpoint::StoredTensor& tensor) {
    return checkpoint::parameter_of(checkpoint::TensorKind::master, tensor.name).has_value();
  };
  if (average == 1) return {open_verified(path, threads, is_exported)};  // a checkpoint will do
  return newest_whole(path, average, threads, is_exported);
}

/// A number without a unit is that of a slip (5 for 5GB): it would make a file of every tensor.
std::int64_t shard_bytes(const std::string& text) {
  const std::int64_t bytes = parse_bytes(text, "--max-shard-size");
  const bool is_number = text.find_first_not_of("0123456789") == std::string::npos;
  if (is_number && bytes < 1 << 20) {
    throw usage_error("octet", "--max-shard-size is {} bytes; expected a size with its unit, such as 5GB or 500MB",
                      text);
  }
  return bytes;
}

/// "mean of 2 checkpoints: steps 10, 20".
std::string mean_text(const std::vector<OpenCheckpoint>& inputs) {
  std::string steps;
  for (auto in = inputs.rbegin(); in != inputs.rend(); ++in) {
    steps += fmt::format("{}{}", steps.empty() ? "" : ", ", in->manifest.state.step);
  }
  return fmt::format("mean of {} checkpoints: steps {}", inputs.size(), steps);
}

/// What fp16 could not hold in full.
void report_small(const checkpoint::SmallWeights& small, std::int64_t weights) {
  if (small.subnormal + small.zero == 0) return;
  log::info(
      "fp16: {} of {} weights are below 2^-14 and have fewer than 11 bits; {} more are too small for it and became 0",
      small.subnormal, weights, small.zero);
}

std::int64_t positions(std::int64_t asked, const RunConfig& config, bool has_seq_len, const std::string& directory) {
  if (asked > 0) return asked;
  if (config.model.max_positions > 0) {
    if (has_seq_len && config.train.seq_len > config.model.max_positions) {
      log::warning(
          "{}: was trained with sequences of {} tokens, and config.json gets {} as max_position_embeddings, the "
          "max_positions of its model; --max-positions {} writes the other",
          directory, config.train.seq_len, config.model.max_positions, config.train.seq_len);
    }
    return config.model.max_positions;
  }
  if (has_seq_len) return config.train.seq_len;
  throw usage_error("octet", "{}: was not trained here, so the length of sequences is not known; give --max-positions",
                    directory);
}

}  // namespace

int run_export(const std::vector<std::string>& arguments) {
  std::vector<std::string> paths;
  std::string dtype = "fp32", shard_size = "5GB", tokenizer;
  std::int64_t max_positions = 0;
  int threads = 0, average = 1;
  Schema schema;
  schema.add("checkpoint", paths).required().several().help("A checkpoint, or a run: its newest; and the new folder.");
  schema.add("dtype", dtype).help("Of the weights: fp32, bf16 or fp16.");
  schema.add("max-shard-size", shard_size).help("Most data in a file: 5GB, 500MB, 2GiB.");
  schema.add("max-positions", max_positions)
      .at_least(0)
      .help(
          "What config.json has as max_position_embeddings, in tokens; 0: max_positions of the model's file, else "
          "train.seq_len of "
          "the run.");
  schema.add("tokenizer", tokenizer)
      .help("The tokenizer's file, or a folder that has it, for a checkpoint that stands outside its run.");
  schema.add("average", average).at_least(1).help("The mean of the newest so many checkpoints of a run.");
  add_threads(schema, threads);
  if (!parse_words(arguments, export_usage, schema, "checkpoint", 2)) return 0;
  if (paths.size() != 2)
    throw usage_error("octet", "export: {} folder given; expected CHECKPOINT and DIR", paths.size());
  checkpoint::ExportOptions options;
  options.type = type_from(dtype);
  options.max_shard_bytes = shard_bytes(shard_size);
  options.program = "octet " OCTET_VERSION;

  std::vector<OpenCheckpoint> inputs;
  RunConfig config;
  std::string missing;
  checkpoint::ExportReport report;
  const checkpoint::ExportOptions given = options;
  while_run_prunes(paths[0], [&] {
    options = given;
    inputs = open_inputs(paths[0], average, hashing_threads(threads));
    const OpenCheckpoint& in = inputs.front();
    bool has_seq_len = false;
    config = config_of(in, &has_seq_len);
    options.model = config.model;
    options.max_positions = positions(max_positions, config, has_seq_len, in.directory);
    missing = add_tokenizer(options, config, in, tokenizer);
    Progress progress("exporting", config.model.parameters() * 4);
    report = checkpoint::export_hugging_face(inputs, paths[1], options,
                                             [&](std::int64_t bytes) { progress.advance(bytes); });
  });
  log::out("{}: {} tensors in {}, {} in {} file(s)", paths[1], report.tensors, dtype, format_bytes(report.bytes),
           report.files);
  if (average > 1) log::out("{}", mean_text(inputs));
  report_small(report.small, config.model.parameters());
  if (!missing.empty()) log::warning("{}", missing);
  if (config.model.dim % config.model.heads != 0) {
    log::warning("transformers refuses a hidden_size ({}) that is not a multiple of the heads ({})", config.model.dim,
                 config.model.heads);
  }
  return 0;
}

}  // namespace octet::tool
