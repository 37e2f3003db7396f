#include "jobs/evaluate/evaluated_facts.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "checkpoints/format/hash.h"
#include "src/base/printable.h"
#include "src/run_config/options/sections.h"

namespace octet::evaluate {
namespace {

/// Whether a change of this file can change what the model computes.
bool decides(const std::string& file) {
  return file.ends_with(".safetensors") || file.ends_with(".json") || file.starts_with("tokenizer");
}

/// What the weights are. A checkpoint's manifest has the hashes of its files, to which they were compared; what a run
/// makes of them later (view.h5) is not in it. Of a Hugging Face folder: size and time of change of each file.
Json weights_of(const ModelSource& source) {
  if (!source.hugging_face) return checkpoint::hash_of(checkpoint::to_json(source.manifest));
  Json files = Json::object();
  std::vector<std::filesystem::directory_entry> entries;
  for (const auto& entry : std::filesystem::directory_iterator(source.directory)) {
    const std::string file = entry.path().filename().string();
    if (entry.is_regular_file() && decides(file) && file != "results.json" && file != "tasks.json")
      entries.push_back(entry);
  }
  std::ranges::sort(entries);
  for (const auto& entry : entries) {
    // JSON has no name that is not UTF-8.
    files[readable(entry.path().filename().string())] = {entry.file_size(),
                                                         entry.last_write_time().time_since_epoch().count()};
  }
  return files;
}

/// The options of float8 that the model computes with; null in another precision.
Json float8_options(const LlamaSettings& settings) {
  if (settings.precision != Precision::float8) return nullptr;
  Float8Config float8 = settings.float8;
  Schema schema;
  declare_float8(schema, float8);
  Json options;
  for (const Option& option : schema.options()) options[option.name()] = option.text();
  return options;
}

}  // namespace

Json facts_of(const FoundModel& model) {
  const std::string text = model.text().substr(model.source.name().size());
  return {{"model", text.substr(std::min(text.find_first_not_of(": "), text.size()))},
          {"files", weights_of(model.source)},
          {"float8", float8_options(model.settings)},
          {"device", name_of(model.options.device)},
          {"tp", model.options.tp},
          {"row_tokens", model.options.row_tokens}};
}

Json facts_of(const FoundModel& model, const Tokenizer& tokenizer) {
  Json facts = facts_of(model);
  facts["tokenizer"] = tokenizer.info().fingerprint;
  facts["bos"] = tokenizer.info().adds_bos;
  facts["control_tokens"] = model.options.control_tokens;
  return facts;
}

}  // namespace octet::evaluate
