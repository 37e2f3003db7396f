#include "src/run_config/options/model_file.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "src/base/installation.h"
#include "src/base/options/document.h"
#include "src/base/options/text.h"
#include "src/base/options/yaml.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool is_path(const std::string& model) {
  return model.find('/') != std::string::npos || model.ends_with(".yaml") || model.ends_with(".yml");
}

/// All places where the model may be, best first.
std::vector<fs::path> places(const std::string& model, const std::string& run_file) {
  std::vector<fs::path> out;
  if (is_path(model)) {
    if (!run_file.empty()) out.push_back(fs::path(run_file).parent_path() / model);
    out.emplace_back(model);
  } else {
    for (const std::string& folder : model_folders(run_file)) out.push_back(fs::path(folder) / (model + ".yaml"));
  }
  return out;
}

/// The first place that has a file; empty if none has.
fs::path find(const std::string& model, const std::string& run_file) {
  for (const fs::path& place : places(model, run_file)) {
    if (is_file(place)) return place;
  }
  return {};
}

std::vector<std::string> known_names(const std::string& run_file) {
  std::set<std::string> names;
  for (const std::string& folder : model_folders(run_file)) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".yaml") names.insert(entry.path().stem());
    }
  }
  return {names.begin(), names.end()};
}

Error no_model(const std::string& model, const std::string& run_file, const std::string& origin) {
  std::vector<std::string> looked;
  for (const fs::path& place : places(model, run_file)) {
    const std::string path = fs::absolute(place).lexically_normal();
    if (std::ranges::find(looked, path) == looked.end()) looked.push_back(path);
  }
  const std::vector<std::string> names = known_names(run_file);
  const std::string near = names.empty() ? "" : fmt::format("; nearest: {}", nearest(model, names));
  return usage_error("config", "{}: model = {}: expected one of {}, or the path of a model file{} (looked for {})",
                     origin, in_quotes(model), joined(names), near, joined(looked));
}

}  // namespace

void declare_model_options(Schema& schema, ModelConfig& m) {
  // The bounds keep every product of these numbers within 63 bits.
  constexpr double dims = 1 << 20;
  schema.add("dim", m.dim).required().between(1, dims).help("Width of the residual stream.");
  schema.add("layers", m.layers).required().between(1, 4096).help("Transformer blocks.");
  schema.add("heads", m.heads).required().between(1, 1 << 16).help("Query heads.");
  schema.add("kv_heads", m.kv_heads)
      .required()
      .between(1, 1 << 16)
      .help("Key and value heads; heads is a multiple of it (grouped-query attention).");
  schema.add("head_dim", m.head_dim).between(0, 4096).help("Width of a head, even. 0: dim / heads.");
  schema.add("ffn_dim", m.ffn_dim).required().between(1, 1 << 24).help("Inner width of the feed-forward.");
  schema.add("vocab_size", m.vocab_size)
      .required()
      .between(1, 2147483647)
      .help("Tokens of the vocabulary; ids of the data must be below it.");
  schema.add("rope_theta", m.rope_theta).above(0).help("Base of the rotary position embedding.");
  schema.add_choice("rope_scaling", m.rope_scaling.kind)
      .help("llama3: Llama 3.1's and 3.2's scaling of RoPE's frequencies for long contexts, by the four keys below.");
  schema.add("rope_factor", m.rope_scaling.factor)
      .at_least(1)
      .help("Low frequencies are divided by it (8 in Llama 3.1, 32 in 3.2). Only with rope_scaling llama3.");
  schema.add("rope_low_freq_factor", m.rope_scaling.low_freq_factor)
      .above(0)
      .help(
          "Frequencies that make fewer turns than this in rope_original_positions positions are low, and divided by "
          "rope_factor. Only with rope_scaling llama3.");
  schema.add("rope_high_freq_factor", m.rope_scaling.high_freq_factor)
      .above(0)
      .help(
          "Frequencies that make more turns than this stay as they are; those between the two limits are interpolated. "
          "Must be above rope_low_freq_factor. Only with rope_scaling llama3.");
  schema.add("rope_original_positions", m.rope_scaling.original_positions)
      .unit("tokens")
      .at_least(1)
      .help("Context length for which the model was trained before the scaling. Only with rope_scaling llama3.");
  schema.add("norm_eps", m.norm_eps).above(0).help("Added to the mean square in RMSNorm.");
  schema.add("tied_embedding", m.tied_embedding).help("The output head uses the embedding's weights.");
  schema.add("max_positions", m.max_positions)
      .unit("tokens")
      .between(0, 1 << 30)
      .help(
          "Longest context that the model is for: max_position_embeddings of an export's config.json. A run's "
          "sequences do not depend on it. 0: train.seq_len of the run.");
}

std::vector<ModelDifference> model_differences(ModelConfig there, ModelConfig here) {
  Schema theirs, ours;
  declare_model_options(theirs, there);
  declare_model_options(ours, here);
  std::vector<ModelDifference> differences;
  for (const Option& option : ours.options()) {
    const std::string then = theirs.find(option.name())->text(), now = option.text();
    if (then != now && option.name() != "max_positions") differences.push_back({option.name(), then, now});
  }
  return differences;
}

std::string to_yaml(ModelConfig model) {
  Schema schema;
  declare_model_options(schema, model);
  return to_yaml(schema);
}

ModelConfig read_model(const std::string& path) {
  ModelConfig model;
  Schema schema;
  declare_model_options(schema, model);
  read_yaml_file(schema, path);
  schema.check_required(path, false);
  model.name = fs::path(path).stem();
  try {
    model.finish();
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{} (in {})", error.what(), path));
  }
  return model;
}

std::vector<std::string> model_folders(const std::string& run_file) {
  std::vector<std::string> folders;
  if (!run_file.empty()) folders.push_back((fs::path(run_file).parent_path() / "../models").lexically_normal());
  for (std::string& folder : shared_folders("configs/models")) folders.push_back(std::move(folder));
  return folders;
}

void resolve_model(RunConfig& config, const std::string& run_file, const std::string& origin) {
  const fs::path found = find(config.model_name, run_file);
  if (found.empty()) throw no_model(config.model_name, run_file, origin);
  config.model = read_model(found.lexically_normal());
  const fs::path elsewhere = find(config.model_name, "");
  std::error_code error;
  const bool depends = is_path(config.model_name) || elsewhere.empty() || !fs::equivalent(found, elsewhere, error);
  if (depends) config.model_name = fs::absolute(found).lexically_normal();
}

}  // namespace octet
