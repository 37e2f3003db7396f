#include "src/evaluate/model_source.h"

#include <algorithm>
#include <filesystem>

#include "checkpoints/format/model_tensors.h"
#include "checkpoints/hugging_face/hugging_face.h"
#include "checkpoints/hugging_face/hugging_face_files.h"
#include "checkpoints/hugging_face/import.h"
#include "checkpoints/restore/restore.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/is_there.h"
#include "src/base/json_reader.h"
#include "src/base/log.h"
#include "src/base/read_file.h"
#include "src/comm/control_exchange.h"
#include "src/comm/look_together.h"
#include "src/corpus/recorded_tokenizer.h"
#include "src/run_config/options/run_options.h"
#include "src/train/start/tokenizer_record.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

/// As rank 0 sees it: another host may not see the folder's files yet, and all have to go the same way.
bool is_hugging_face(const std::string& folder, Communicator& control) {
  bool there = false;
  files::look_together(control, [&] {
    if (control.rank() == 0) there = files::is_there(folder + "/config.json");
  });
  return !broadcast_bytes(there ? "there" : "", 0, control).empty();
}

ModelSource find_checkpoint(const std::string& path, Communicator& control) {
  auto found = checkpoint::find_checkpoint(path, control);
  if (!found) {
    throw usage_error("evaluate",
                      "{}: is no model; expected a checkpoint, a run that has one, or a Hugging Face folder "
                      "(config.json and safetensors)",
                      path);
  }
  return {.directory = std::move(found->directory), .manifest = std::move(found->manifest)};
}

std::optional<std::int32_t> first_of(const std::vector<std::int64_t>& ids) {
  return ids.empty() ? std::nullopt : std::optional(static_cast<std::int32_t>(ids.front()));
}

/// What config.json and a generation_config.json in the folder say.
void take_ids(ModelSource& source, const std::string& config) {
  const checkpoint::SpecialIds ids = checkpoint::read_special_ids(config);
  source.bos = first_of(ids.bos);
  source.eos = first_of(ids.eos);
  std::vector<std::int64_t> ends = ids.eos;
  const std::string generation = source.directory + "/" + checkpoint::generation_config;
  if (files::is_there(generation)) {
    if (const auto its = checkpoint::read_special_ids(generation).eos; !its.empty()) ends = its;
  }
  source.ends.assign(ends.begin(), ends.end());
}

/// What an imported checkpoint has kept of its folder.
void read_kept(ModelSource& source) {
  const std::vector<std::string> kept = checkpoint::plain_files(source.manifest);
  if (checkpoint::has_tokenizer(kept)) source.tokenizer = source.directory;
  if (std::ranges::find(kept, checkpoint::kept_config) != kept.end()) {
    take_ids(source, source.directory + "/" + checkpoint::kept_config);
  }
}

void read_settings(ModelSource& source) {
  RunConfig config;
  Schema schema;
  read_stored_options(schema, config, source.manifest.state.config, source.directory);
  checkpoint::check_model(source.manifest.tensors, config.model, source.directory);
  source.model = config.model;
  source.window = schema.find("train.seq_len")->is_set() ? config.train.seq_len : config.model.max_positions;
  source.precision = config.precision;
  source.float8 = config.float8;
  read_kept(source);
  const std::string& tokenizer = config.data.history.tokenizer;
  if (tokenizer.empty()) return;
  source.identity = read_tokenizer_identity(tokenizer, source.directory + " (data_history.tokenizer)");
  if (!source.tokenizer.empty()) return;
  source.tokenizer = source.identity->kind == TokenizerKind::bytes
                         ? "bytes"
                         : tokenizer_of_checkpoint(source.directory, *source.identity);
}

ModelSource read_folder(const std::string& path) {
  const std::string config = path + "/config.json";
  const std::string text = files::read_file(config);
  ModelSource source{.directory = path, .hugging_face = true};
  source.model = checkpoint::parse_hugging_face_config(text, config);
  const auto json = parse_json(text, "evaluate", config, "the configuration of a model");
  const JsonReader reader(json, "evaluate", config);
  constexpr std::int64_t most_positions = 1 << 24;
  if (reader.has("max_position_embeddings")) {
    source.window = reader.integer("max_position_embeddings", 1, most_positions);
  }
  take_ids(source, config);
  if (files::is_there(path + "/tokenizer.json") || files::is_there(path + "/tokenizer.model")) source.tokenizer = path;
  return source;
}

bool is_same(const TokenizerInfo& tokenizer, const TokenizerIdentity& identity) {
  return tokenizer.kind == name_of(identity.kind) && tokenizer.fingerprint == identity.fingerprint;
}

}  // namespace

ModelSource find_model(const std::string& path, Communicator& control) {
  const std::string folder = without_slash(path);
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw usage_error("evaluate", "{}: is no folder; expected that of a model", path);
  if (is_hugging_face(folder, control)) return read_folder(folder);
  ModelSource source = find_checkpoint(folder, control);
  read_settings(source);
  return source;
}

bool has_tokenizer(const ModelSource& source) {
  return source.tokenizer == "bytes" || (!source.tokenizer.empty() && is_there(source.tokenizer));
}

std::unique_ptr<Tokenizer> tokenizer_of(const ModelSource& source, const std::string& given, bool control_tokens,
                                        const std::optional<TokenizerIdentity>& of_data) {
  const std::string& name = given.empty() ? source.tokenizer : given;
  if (name.empty()) {
    const bool bytes = source.model.vocab_size == 256;  // exports of such models have no file of a tokenizer
    throw usage_error("evaluate", "{}: its tokenizer is not known; give --tokenizer{}", source.name(),
                      bytes ? " bytes, if its 256 ids are bytes" : "");
  }
  if (given.empty() && !has_tokenizer(source)) {
    throw usage_error("evaluate", "{}: {}, the copy of its tokenizer, is not there; give --tokenizer", source.name(),
                      name);
  }
  const bool knows_end = source.identity && source.identity->eos;
  auto tokenizer = make_recorded_tokenizer(name, of_data && !knows_end ? of_data : source.identity, control_tokens);
  const TokenizerInfo& info = tokenizer->info();
  if (!given.empty() && has_tokenizer(source) && given != source.tokenizer) {
    log::info("tokenizer: {} ({}, {} ids), as --tokenizer says; {}, that of the model, is set aside", name, info.kind,
              info.vocab_size, source.tokenizer);
  }
  if (source.identity && !is_same(info, *source.identity)) {
    throw usage_error("evaluate", "{}: is another tokenizer than {}, with which the data of {} were made", name,
                      text_of(*source.identity), source.name());
  }
  if (info.vocab_size > source.model.vocab_size) {
    throw usage_error("evaluate", "{}: the tokenizer has {} ids, and the model {} has {}", name, info.vocab_size,
                      source.name(), source.model.vocab_size);
  }
  return tokenizer;
}

}  // namespace octet
