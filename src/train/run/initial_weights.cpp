#include "src/train/run/initial_weights.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <string_view>

#include "checkpoints/agreement.h"
#include "checkpoints/hugging_face.h"
#include "checkpoints/import.h"
#include "checkpoints/packing.h"
#include "checkpoints/read_together.h"
#include "checkpoints/restore.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/base/options/text.h"
#include "src/base/seconds_since.h"
#include "src/comm/host_exchange.h"
#include "src/train/options/model_file.h"
#include "src/train/options/run_options.h"
#include "src/train/step/model_state.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool is_hugging_face(const std::string& folder) {
  return is_there(fs::path(folder) / "config.json");
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
      if (is_there(file)) throw another_tokenizer(folder, fmt::format("has {}", file.filename().string()), data);
    }
    return;
  }
  const fs::path& file = data.kind == TokenizerKind::bpe ? json : model;
  const auto bytes = read_text_file(file.string());
  if (!bytes || tokenizer_fingerprint(*bytes) == data.fingerprint) return;
  throw another_tokenizer(
      folder, fmt::format("its {} is another file ({:016x})", file.filename().string(), tokenizer_fingerprint(*bytes)),
      data);
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
  if (checkpoint::step_of(from) || is_there(fs::path(from) / checkpoint::manifest_name)) {
    return {from, checkpoint::read_manifest(from)};
  }
  const fs::path below = fs::path(from) / "checkpoints";
  const auto found = checkpoint::list_checkpoints(is_there(below) ? below.string() : from);
  for (const std::string& path : found) {
    try {
      return {path, checkpoint::read_manifest(path)};
    } catch (const Error& damage) {
      log::warning("init.from: {}; it is passed over", damage.what());
    }
  }
  if (found.empty()) throw no_weights(from);
  throw usage_error("train", "init.from = {}: found {} checkpoint(s), of none of which the manifest can be read", from,
                    found.size());
}

void check_checkpoint(const RunConfig& config, const std::optional<TokenizerIdentity>& data,
                      const std::string& directory, const checkpoint::Manifest& manifest) {
  RunConfig then;
  Schema schema;
  read_stored_options(schema, then, manifest.state.config, directory);
  check_same_model(then.model, config.model, directory);
  checkpoint::check_model(manifest.tensors, config.model, directory);
  if (data) check_checkpoints_tokenizer(then, directory, *data);
}

std::optional<TokenizerIdentity> tokenizer_of_data(const RunConfig& config) {
  const std::string& text = config.data.history.tokenizer;
  if (text.empty()) return std::nullopt;
  return read_tokenizer_identity(text, "the tokenizer of the data");
}

/// Rank 0's look, of whose result, or failure, all ranks hear: what it sees in the file system is what they do.
std::string look_for_all(const std::string& from, Communicator& hosts, const std::function<std::string()>& look) {
  checkpoint::Packer packer;
  if (hosts.rank() == 0) {
    std::string seen;
    auto code = ExitCode::finished;
    try {
      seen = look();
    } catch (const Error& error) {
      code = error.code();
      seen = error.what();
    } catch (const std::exception& error) {
      const Error internal = internal_error("train", "init.from = {}: {}", from, error.what());
      code = internal.code();
      seen = internal.what();
    }
    packer.put(code, seen);
  }
  const std::string bytes = broadcast_bytes(packer.bytes(), 0, hosts);
  checkpoint::Unpacker unpacker(bytes);
  const auto code = unpacker.take<ExitCode>();
  std::string seen = unpacker.take_text();
  if (code != ExitCode::finished) throw Error(code, seen, true);
  return seen;
}

/// Every rank reads the headers for itself; where one cannot, all end together. Returns what they are, for the log.
std::string load_folder(const std::string& from, const RunEnvironment& environment, ShardedModel& model) {
  Communicator& control = environment.control;
  std::optional<checkpoint::HuggingFaceModel> folder;
  std::optional<checkpoint::Failure> failure;
  checkpoint::ReadProgress progress;
  const auto open = [&] {
    try {
      folder.emplace(from);
    } catch (const checkpoint::ReadError&) {
      throw;
    } catch (const Error& error) {
      failure = checkpoint::Failure{error.code(), error.what()};
    } catch (const std::exception& error) {
      failure = checkpoint::Failure{ExitCode::internal, error.what()};
    }
  };
  const auto absent = checkpoint::read_together("look at a Hugging Face folder", control, progress,
                                                [&] { checkpoint::with_retries(progress, open); });
  if (absent) throw usage_error("train", "{} any more", *absent);
  checkpoint::agree(fmt::format("init.from = {}", from), failure, control);
  for (const std::string& name : folder->ignored()) log::info("not needed: {}", name);
  load_masters(model.parameters(), model.master(), *folder, environment.stream, control, Weights::finite);
  return fmt::format("of the Hugging Face folder {}", from);
}

/// Of a run the newest whole checkpoint, which may be an older one than `looked_at`. Returns as load_folder.
std::string load_checkpoint(const RunConfig& config, const std::string& looked_at, const RunEnvironment& environment,
                            ShardedModel& model) {
  const std::string& from = config.init.from;
  Communicator& control = environment.control;
  const auto found = checkpoint::find_checkpoint(from, control);
  if (!found) throw usage_error("train", "init.from = {}: its checkpoints are gone", from);
  if (found->directory != looked_at) {
    look_for_all(from, control, [&] {
      check_checkpoint(config, tokenizer_of_data(config), found->directory, found->manifest);
      return found->directory;
    });
  }
  load_masters(model.parameters(), model.master(), found->directory, found->manifest, environment.stream, &control,
               Weights::finite);
  return fmt::format("of {}, step {}", found->directory, found->manifest.state.step);
}

/// Where the data do not say which tokenizer made them, neither does the run: only theirs is read here.
void warn_of_unknown_tokenizer(const RunConfig& config) {
  const fs::path folder = config.init.from;
  if (!config.data.history.tokenizer.empty()) return;
  if (!is_there(folder / "tokenizer.json") && !is_there(folder / "tokenizer.model")) return;
  log::warning(
      "init.from = {0}: has a tokenizer, and the data do not say theirs (no .data.json): the run keeps none, and what "
      "evaluates it needs --tokenizer {0}",
      config.init.from);
}

/// Returns the checkpoint that was looked at; empty for a Hugging Face folder.
std::string look_at_weights(const RunConfig& config, const std::optional<TokenizerIdentity>& data) {
  const std::string& from = config.init.from;
  if (!is_hugging_face(from)) {
    const Candidate newest = newest_at(from);
    check_checkpoint(config, data, newest.directory, newest.manifest);
    return newest.directory;
  }
  const checkpoint::HuggingFaceModel folder(from);
  check_same_model(folder.model(), config.model, from);
  if (data) check_folders_tokenizer(from, *data);
  return "";
}

}  // namespace

void check_initial_weights(const RunConfig& config, const std::optional<TokenizerIdentity>& data) {
  if (!config.init.from.empty()) look_at_weights(config, data);
}

void load_initial_weights(const RunConfig& config, const RunEnvironment& environment, Trainer& trainer) {
  const std::string& from = config.init.from;
  if (from.empty()) return;
  const auto start = std::chrono::steady_clock::now();
  const std::string looked_at =
      look_for_all(from, environment.control, [&] { return look_at_weights(config, tokenizer_of_data(config)); });
  const std::string what = looked_at.empty() ? load_folder(from, environment, trainer.model())
                                             : load_checkpoint(config, looked_at, environment, trainer.model());
  if (looked_at.empty() && environment.control.rank() == 0) warn_of_unknown_tokenizer(config);
  trainer.model().weights_changed();
  environment.control.barrier();  // no rank begins a step, with its shorter deadline, while another still reads
  log::info("initial weights: those {}, read in {:.2f} s; the moments are zero, and the run begins at step 0", what,
            seconds_since(start));
}

}  // namespace octet
