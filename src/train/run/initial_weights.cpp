#include "src/train/run/initial_weights.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <string_view>

#include "checkpoints/hugging_face.h"
#include "checkpoints/import.h"
#include "checkpoints/restore.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/base/options/text.h"
#include "src/base/seconds_since.h"
#include "src/comm/host_exchange.h"
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

void check_same_model(ModelConfig there, ModelConfig here, const std::string& from) {
  Schema theirs, ours;
  declare_model_options(theirs, there);
  declare_model_options(ours, here);
  std::vector<std::string> refused, warned;
  for (const Option& option : ours.options()) {
    const std::string then = theirs.find(option.name())->text(), now = option.text();
    if (then == now || option.name() == "max_positions") continue;
    auto& list = std::ranges::find(sizes, option.name()) == sizes.end() ? warned : refused;
    list.push_back(fmt::format("{} = {} there, {} in the run's model", option.name(), then, now));
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

/// The checkpoint itself, or the newest of a run, whole or not.
std::string newest_at(const std::string& from) {
  if (checkpoint::step_of(from) || is_there(fs::path(from) / checkpoint::manifest_name)) return from;
  const fs::path below = fs::path(from) / "checkpoints";
  const auto found = checkpoint::list_checkpoints(is_there(below) ? below.string() : from);
  if (!found.empty()) return found.front();
  throw usage_error("train",
                    "init.from = {}: has no weights; expected a Hugging Face folder (config.json and safetensors), a "
                    "checkpoint, or a run that has one",
                    from);
}

void check_checkpoint(const RunConfig& config, const std::optional<TokenizerIdentity>& data) {
  const std::string directory = newest_at(config.init.from);
  const checkpoint::Manifest manifest = checkpoint::read_manifest(directory);
  RunConfig then;
  Schema schema;
  read_stored_options(schema, then, manifest.state.config, directory);
  check_same_model(then.model, config.model, directory);
  checkpoint::check_model(manifest.tensors, config.model, directory);
  if (data) check_checkpoints_tokenizer(then, directory, *data);
}

/// Rank 0's look, of which all ranks hear.
void check_for_all(const RunConfig& config, Communicator& hosts) {
  const std::string& text = config.data.history.tokenizer;
  std::string failure;
  auto code = static_cast<std::int32_t>(ExitCode::finished);
  if (hosts.rank() == 0) {
    try {
      std::optional<TokenizerIdentity> data;
      if (!text.empty()) data = read_tokenizer_identity(text, "the tokenizer of the data");
      check_initial_weights(config, data);
    } catch (const Error& error) {
      failure = error.what();
      code = static_cast<std::int32_t>(error.code());
    }
  }
  hosts.broadcast(&code, 1, DType::i32, 0);
  failure = broadcast_bytes(failure, 0, hosts);
  if (code != 0) throw Error(static_cast<ExitCode>(code), failure, true);
}

/// Returns what they are, for the log.
std::string load(const std::string& from, const RunEnvironment& environment, ShardedModel& model) {
  Communicator& control = environment.control;
  if (is_hugging_face(from)) {
    const checkpoint::HuggingFaceModel folder(from);
    for (const std::string& name : folder.ignored()) log::info("not needed: {}", name);
    load_masters(model.parameters(), model.master(), folder, environment.stream, control);
    return fmt::format("of the Hugging Face folder {}", from);
  }
  const auto found = checkpoint::find_checkpoint(from, control);
  if (!found) throw usage_error("train", "init.from = {}: its checkpoints are gone", from);
  load_masters(model.parameters(), model.master(), found->directory, found->manifest, environment.stream, &control);
  return fmt::format("of {}, step {}", found->directory, found->manifest.state.step);
}

}  // namespace

void check_initial_weights(const RunConfig& config, const std::optional<TokenizerIdentity>& data) {
  const std::string& from = config.init.from;
  if (from.empty()) return;
  if (!is_hugging_face(from)) return check_checkpoint(config, data);
  const checkpoint::HuggingFaceModel folder(from);
  check_same_model(folder.model(), config.model, from);
  if (data) check_folders_tokenizer(from, *data);
}

void load_initial_weights(const RunConfig& config, const RunEnvironment& environment, Trainer& trainer) {
  if (config.init.from.empty()) return;
  const auto start = std::chrono::steady_clock::now();
  check_for_all(config, environment.control);
  const std::string what = load(config.init.from, environment, trainer.model());
  trainer.model().weights_changed();
  environment.control.barrier();  // no rank begins a step, with its shorter deadline, while another still reads
  log::info("initial weights: those {}, read in {:.2f} s; the moments are zero, and the run begins at step 0", what,
            seconds_since(start));
}

}  // namespace octet
