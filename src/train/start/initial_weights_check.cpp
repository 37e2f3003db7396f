#include "src/train/start/initial_weights_check.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "checkpoints/format/model_tensors.h"
#include "checkpoints/format/unknown_format.h"
#include "checkpoints/hugging_face/import.h"
#include "checkpoints/restore/restore.h"
#include "src/base/error.h"
#include "src/base/is_there.h"
#include "src/base/log.h"
#include "src/base/options/text.h"
#include "src/base/read_file.h"
#include "src/run_config/options/model_file.h"
#include "src/run_config/options/run_options.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

bool is_hugging_face(const std::string& folder) {
  return files::is_there(fs::path(folder) / "config.json");
}

/// Keys of the model's file that shapes follow from; a model with others is another function of the same weights.
constexpr std::array<std::string_view, 8> sizes = {"dim",      "layers",  "heads",      "kv_heads",
                                                   "head_dim", "ffn_dim", "vocab_size", "tied_embedding"};

void check_same_model(const ModelConfig& there, const ModelConfig& here, const std::string& from) {
  std::vector<std::string> refused, warned;
  for (const auto& [key, then, now] : model_differences(there, here)) {
    auto& list = std::ranges::find(sizes, key) == sizes.end() ? warned : refused;
    list.push_back(fmt::format("{} = {} there, {} in the run's model", key, then, now));
  }
  if (!refused.empty()) {
    throw usage_error("train", "init.from = {}: is of another model than {}: {}", from, here.name, joined(refused));
  }
  if (warned.empty()) return;
  log::warning("init.from = {}: these weights were made for a model that computes otherwise: {}", from, joined(warned));
}

Error another_tokenizer(const std::string& from, const std::string& its, const TokenizerIdentity& data) {
  return usage_error("train",
                     "init.from = {}: {}, and the data were made with {}; expected data that `octet prepare` has made "
                     "with the tokenizer of the weights",
                     from, its, text_of(data));
}

/// A folder has the file of its tokenizer, perhaps in two forms; the one of the data's kind is compared.
void check_folders_tokenizer(const std::string& folder, const TokenizerIdentity& data) {
  const fs::path json = fs::path(folder) / "tokenizer.json", model = fs::path(folder) / "tokenizer.model";
  if (data.kind == TokenizerKind::bytes) {
    for (const fs::path& file : {json, model}) {
      if (files::is_there(file)) throw another_tokenizer(folder, fmt::format("has {}", file.filename().string()), data);
    }
    return;
  }
  const fs::path& file = data.kind == TokenizerKind::bpe ? json : model;
  if (!files::is_there(file)) return;
  const std::uint64_t fingerprint = tokenizer_fingerprint(files::read_file(file));
  if (fingerprint == data.fingerprint) return;
  throw another_tokenizer(folder,
                          fmt::format("its {} is another file ({:016x})", file.filename().string(), fingerprint), data);
}

void check_checkpoints_tokenizer(const RunConfig& then, const std::string& directory, const TokenizerIdentity& data) {
  const std::string& text = then.data.history.tokenizer;
  if (text.empty()) return;
  const TokenizerIdentity its = read_tokenizer_identity(text, directory + " (data_history.tokenizer)");
  if (!same_tokenizer(its, data)) {
    throw another_tokenizer(directory, fmt::format("its data were made with {}", text_of(its)), data);
  }
}

Error no_weights(const std::string& from) {
  if (!files::is_there(from)) return usage_error("train", "init.from = {}: there is no such folder", from);
  return usage_error("train",
                     "init.from = {}: has no weights; expected a Hugging Face folder (config.json and safetensors), a "
                     "checkpoint, or a run that has one",
                     from);
}

/// A checkpoint of which the manifest alone was read.
struct Candidate {
  std::string directory;
  checkpoint::Manifest manifest;
};

/// The checkpoint itself, or the newest of a run whose manifest can be read: the run that begins passes over those that
/// cannot. Nobody looks at the files.
Candidate newest_at(const std::string& from) {
  if (checkpoint::step_of(from) || files::is_there(fs::path(from) / checkpoint::manifest_name)) {
    return {from, checkpoint::read_manifest(from)};
  }
  const fs::path below = fs::path(from) / "checkpoints";
  const auto found = checkpoint::list_checkpoints(files::is_there(below) ? below.string() : from);
  for (const std::string& path : found) {
    try {
      return {path, checkpoint::read_manifest(path)};
    } catch (const checkpoint::UnknownFormat&) {
      throw;
    } catch (const Error& damage) {
      if (damage.code() == ExitCode::internal) throw;  // it cannot be read, and may be whole
      log::warning("init.from: {}; it is passed over", damage.what());
    }
  }
  if (found.empty()) throw no_weights(from);
  throw usage_error("train", "init.from = {}: found {} checkpoint(s), of none of which the manifest can be read", from,
                    found.size());
}

/// As look_at_initial_weights.
std::string look(const RunConfig& config, const std::optional<TokenizerIdentity>& data) {
  const std::string& from = config.init.from;
  if (!is_hugging_face(from)) {
    const Candidate newest = newest_at(from);
    check_weights_of_checkpoint(config, data, newest.directory, newest.manifest);
    return newest.directory;
  }
  const checkpoint::HuggingFaceModel folder(from);
  for (const std::string& text : folder.warnings()) log::warning("init.from: {}", text);
  check_same_model(folder.model(), config.model, from);
  if (data) check_folders_tokenizer(from, *data);
  return "";
}

}  // namespace

void check_weights_of_checkpoint(const RunConfig& config, const std::optional<TokenizerIdentity>& data,
                                 const std::string& directory, const checkpoint::Manifest& manifest) {
  RunConfig then;
  Schema schema;
  read_stored_options(schema, then, manifest.state.config, directory);
  check_same_model(then.model, config.model, directory);
  checkpoint::check_model(manifest.tensors, config.model, directory);
  if (data) check_checkpoints_tokenizer(then, directory, *data);
}

std::string look_at_initial_weights(const RunConfig& config, const std::optional<TokenizerIdentity>& data) {
  try {
    return look(config, data);
  } catch (const files::ReadError& error) {
    if (!files::is_refused(error.error())) throw;
    throw Error(ExitCode::usage, error.what());
  }
}

void check_initial_weights(const RunConfig& config, const std::optional<TokenizerIdentity>& data) {
  if (!config.init.from.empty()) look_at_initial_weights(config, data);
}

void warn_of_unknown_tokenizer(const RunConfig& config) {
  const fs::path folder = config.init.from;
  if (!config.data.history.tokenizer.empty()) return;
  // One that cannot be looked at is not worth a run.
  if (!is_there(folder / "tokenizer.json") && !is_there(folder / "tokenizer.model")) return;
  log::warning(
      "init.from = {0}: has a tokenizer, and the data do not say theirs (no .data.json): the run keeps none, and what "
      "evaluates it needs --tokenizer {0}",
      config.init.from);
}

}  // namespace octet
