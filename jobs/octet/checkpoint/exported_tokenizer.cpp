#include "jobs/octet/checkpoint/exported_tokenizer.h"

#include <filesystem>
#include <optional>

#include "checkpoints/hugging_face/hugging_face.h"
#include "src/base/files.h"
#include "src/base/json_reader.h"
#include "src/base/log.h"
#include "src/base/read_file.h"
#include "src/data/tokenizer_identity.h"
#include "src/train/start/tokenizer_record.h"

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

/// A tokenizer_config.json says a token by its name, or as an object that has the name as content.
std::optional<std::string> end_token_of(const std::string& tokenizer_config, const std::string& path) {
  const auto json = parse_json(tokenizer_config, "octet", path, "the configuration of a tokenizer");
  const JsonReader config(json, "octet", path);
  if (!config.has("eos_token")) return std::nullopt;
  const JsonReader token = config.at("eos_token");
  return token.is_text() ? token.text() : token.text("content");
}

/// Who generates by config.json and who encodes by tokenizer_config.json would end texts differently.
void warn_of_other_end(const std::string& tokenizer_config, const std::string& path,
                       const TokenizerIdentity& tokenizer) {
  std::optional<std::string> name;
  try {
    name = end_token_of(tokenizer_config, path);
  } catch (const Error&) {
    return;  // it goes over as it is, whatever it says
  }
  const auto found = name ? tokenizer.special.find(*name) : tokenizer.special.end();
  if (found == tokenizer.special.end() || !tokenizer.eos || found->second == *tokenizer.eos) return;
  log::warning(
      "{}: its eos_token is {}, and texts of the run's data end with {}, which config.json has as eos_token_id", path,
      token_text(tokenizer, found->second), token_text(tokenizer, tokenizer.eos));
}

/// As they were in the folder that the checkpoint was imported from.
std::string add_kept(checkpoint::ExportOptions& options, const std::vector<std::string>& kept,
                     const OpenCheckpoint& from) {
  for (const std::string& name : kept) {
    const std::string path = from.directory + "/" + name;
    if (name == checkpoint::kept_config) {
      options.ids = checkpoint::read_special_ids(path);
    } else {
      options.beside.push_back({name, files::read_file(path)});
    }
  }
  if (checkpoint::has_tokenizer(kept)) return "";
  return from.directory + " was imported from a folder without a tokenizer: none is exported";
}

/// The file that --tokenizer names; if that is a folder, the file in it that has the name which a run, or else Hugging
/// Face, gives it.
std::string file_of(const std::string& given, const TokenizerIdentity& tokenizer) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(given, error)) return given;
  const char* const its = tokenizer.kind == TokenizerKind::bpe ? "tokenizer.json" : "tokenizer.model";
  const fs::path as_kept = fs::path(given) / tokenizer_file_name(tokenizer.kind);
  return (fs::exists(as_kept, error) ? as_kept : fs::path(given) / its).string();
}

/// The path and the text of the tokenizer's file: the given one, or that of the checkpoint's run. Where the run has
/// none, there is a reason in place of the text; a given file of another tokenizer is a usage error.
struct TokenizerFile {
  std::string path;
  std::optional<std::string> text{};
  std::string missing{};
};

TokenizerFile find_file(const std::string& directory, const TokenizerIdentity& tokenizer, const std::string& given) {
  TokenizerFile found{given.empty() ? tokenizer_of_checkpoint(directory, tokenizer) : file_of(given, tokenizer)};
  found.text = read_text_file(found.path);
  if (found.text && tokenizer_fingerprint(*found.text) == tokenizer.fingerprint) return found;
  const char* const what = found.text ? "is of another one" : "is not there";
  if (!given.empty()) {
    throw usage_error("octet",
                      "--tokenizer: {} {}; expected the file of the tokenizer {}, with which the data of {} "
                      "were made",
                      found.path, what, text_of(tokenizer), directory);
  }
  found.text.reset();
  found.missing = fmt::format("{} {}: the file of the tokenizer {} is not exported; --tokenizer names it elsewhere",
                              found.path, what, text_of(tokenizer));
  return found;
}

/// Why no tokenizer can be given for that checkpoint.
void refuse_given(const std::string& given, const std::string& directory, const char* why) {
  if (!given.empty()) throw usage_error("octet", "--tokenizer = {}: {} {}; leave it out", given, directory, why);
}

}  // namespace

std::string add_tokenizer(checkpoint::ExportOptions& options, const RunConfig& config, const OpenCheckpoint& from,
                          const std::string& given) {
  const std::string &directory = from.directory, &text = config.data.history.tokenizer;
  if (const auto kept = checkpoint::plain_files(from.manifest); !kept.empty()) {
    refuse_given(given, directory, "keeps what the folder had that it was imported from");
    return add_kept(options, kept, from);
  }
  if (text.empty()) {
    refuse_given(given, directory, "does not say which tokenizer its data were made with");
    return directory +
           " does not say which tokenizer its data were made with: bos_token_id and eos_token_id of config.json "
           "are null, and no tokenizer is exported";
  }
  const TokenizerIdentity tokenizer = read_tokenizer_identity(text, directory + " (data_history.tokenizer)");
  options.ids = {.bos = list_of(tokenizer.bos), .eos = list_of(tokenizer.eos)};
  if (tokenizer.kind == TokenizerKind::bytes) {
    refuse_given(given, directory, "has data of plain bytes, whose tokenizer has no file");
    return "";
  }
  const TokenizerFile file = find_file(directory, tokenizer, given);
  if (!file.text) return file.missing;
  // A rank file has the name that Llama 3's has, by which import, evaluation and transformers find it.
  options.beside.push_back(
      {tokenizer.kind == TokenizerKind::tiktoken ? "tokenizer.model" : std::string(tokenizer_file_name(tokenizer.kind)),
       *file.text});
  bool has_config = false;
  for (const char* name : checkpoint::tokenizer_companions) {
    const std::string path = (std::filesystem::path(file.path).parent_path() / name).string();
    auto companion = read_text_file(path);
    if (!companion) continue;
    if (name == config_name) {
      has_config = true;
      warn_of_other_end(*companion, path, tokenizer);
    }
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
