#include "jobs/octet/checkpoint/exported_tokenizer.h"

#include <filesystem>
#include <optional>

#include "checkpoints/hugging_face.h"
#include "checkpoints/read_file.h"
#include "src/base/files.h"
#include "src/data/tokenizer_identity.h"
#include "src/train/run/tokenizer_record.h"

namespace octet::tool {
namespace {

constexpr std::string_view config_name = "tokenizer_config.json";

/// The name of the control token of that id.
std::optional<std::string> name_of(const TokenizerIdentity& tokenizer, std::optional<std::int64_t> id) {
  for (const auto& [name, its] : tokenizer.special) {
    if (its == id) return name;
  }
  return std::nullopt;
}

std::vector<std::int64_t> list_of(std::optional<std::int64_t> id) {
  return id ? std::vector{*id} : std::vector<std::int64_t>();
}

/// As they were in the folder that the checkpoint was imported from.
std::string add_kept(checkpoint::ExportOptions& options, const std::vector<std::string>& kept,
                     const OpenCheckpoint& from) {
  for (const std::string& name : kept) {
    const std::string path = from.directory + "/" + name;
    if (name == checkpoint::kept_config) {
      options.ids = checkpoint::read_special_ids(path);
    } else {
      options.beside.push_back({name, checkpoint::read_file(path)});
    }
  }
  if (checkpoint::has_tokenizer(kept)) return "";
  return from.directory + " was imported from a folder without a tokenizer: none is exported";
}

}  // namespace

std::string add_tokenizer(checkpoint::ExportOptions& options, const RunConfig& config, const OpenCheckpoint& from) {
  if (const auto kept = checkpoint::plain_files(from.manifest); !kept.empty()) return add_kept(options, kept, from);
  const std::string &directory = from.directory, &text = config.data.history.tokenizer;
  if (text.empty()) {
    return directory +
           " does not say which tokenizer its data were made with: bos_token_id and eos_token_id of config.json "
           "are null, and no tokenizer is exported";
  }
  const TokenizerIdentity tokenizer = read_tokenizer_identity(text, directory + " (data_history.tokenizer)");
  options.ids = {.bos = list_of(tokenizer.bos), .eos = list_of(tokenizer.eos)};
  if (tokenizer.kind == TokenizerKind::bytes) return "";
  const std::filesystem::path run = std::filesystem::absolute(directory).lexically_normal().parent_path().parent_path();
  const std::string kept = kept_tokenizer_path(run.string(), tokenizer.kind);
  const auto file = read_text_file(kept);
  if (!file || tokenizer_fingerprint(*file) != tokenizer.fingerprint) {
    return fmt::format("{} {}: the file of the tokenizer {} is not exported", kept,
                       file ? "is of another one" : "is not there", text_of(tokenizer));
  }
  // A rank file has the name that Llama 3's has, by which import, evaluation and transformers find it.
  options.beside.push_back(
      {tokenizer.kind == TokenizerKind::tiktoken ? "tokenizer.model" : std::string(tokenizer_file_name(tokenizer.kind)),
       *file});
  bool has_config = false;
  for (const char* name : checkpoint::tokenizer_companions) {
    auto companion = read_text_file((std::filesystem::path(kept).parent_path() / name).string());
    if (!companion) continue;
    has_config = has_config || name == config_name;
    options.beside.push_back({name, std::move(*companion)});
  }
  if (!has_config && tokenizer.kind == TokenizerKind::bpe) {
    options.beside.push_back({std::string(config_name), checkpoint::hugging_face_tokenizer_config(
                                                            name_of(tokenizer, tokenizer.bos),
                                                            name_of(tokenizer, tokenizer.eos), options.max_positions)});
  }
  return "";
}

}  // namespace octet::tool
