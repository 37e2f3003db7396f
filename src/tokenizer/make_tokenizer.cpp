#include "src/tokenizer/make_tokenizer.h"

#include <filesystem>
#include <optional>
#include <string_view>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/lfs_pointer.h"
#include "src/tokenizer/bytes.h"
#include "src/tokenizer/json/load_json.h"
#include "src/tokenizer/ranks/load_ranks.h"
#include "src/tokenizer/sentencepiece/load_sentencepiece.h"
#include "src/tokenizer/sentencepiece/model_facts.h"

namespace octet {
namespace {

constexpr const char* known =
    "bytes, or the path of a tokenizer.json, a rank file, a SentencePiece model or a folder that has one";

/// The file that a path stands for.
std::string file_at(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) return path;
  for (const char* name : {"tokenizer.json", "tokenizer.model"}) {
    std::string file = (fs::path(path) / name).string();
    if (fs::exists(file, error)) return file;
  }
  throw usage_error("tokenizer", "{}: has no tokenizer.json and no tokenizer.model", path);
}

bool is_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

/// The tokenizer of a file, by its content.
std::unique_ptr<Tokenizer> load(const std::string& file, const TokenizerOptions& options) {
  const std::string bytes = text_of_file("tokenizer", file);
  refuse_lfs_pointer(bytes, "tokenizer", file);  // before its last line is taken for that of a rank file
  if (is_rank_file(bytes)) return load_rank_file(bytes, file, options);
  if (is_sentencepiece_model(bytes)) return load_sentencepiece(bytes, file, options);
  if (is_json(bytes)) return load_tokenizer_json(bytes, file, options);
  throw usage_error("tokenizer", "{}: is neither JSON nor a rank file nor a SentencePiece model", file);
}

/// The file beside a tokenizer.json that would be taken in its place, if there is one.
std::optional<std::string> model_beside(const std::string& file) {
  const std::filesystem::path path(file);
  if (path.filename() != "tokenizer.json") return std::nullopt;
  std::string other = path.parent_path() / "tokenizer.model";
  const auto bytes = read_text_file(other);
  const bool is_taken = bytes && !is_lfs_pointer(*bytes) && (is_rank_file(*bytes) || is_sentencepiece_model(*bytes));
  return is_taken ? std::optional(other) : std::nullopt;
}

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(const std::string& name, const TokenizerOptions& options) {
  if (name == "bytes") {
    if (options.control_tokens || options.bos || options.eos) {
      throw usage_error("tokenizer", "bytes have no tokens of their own; control tokens, bos and eos are for files");
    }
    return make_bytes_tokenizer();
  }
  std::error_code error;
  if (!std::filesystem::exists(name, error)) {
    throw usage_error("tokenizer", "unknown tokenizer \"{}\"; known: {}; there is no such file", name, known);
  }
  const std::string file = file_at(name);
  try {
    return load(file, options);
  } catch (const Error& refused) {
    // It is not taken unasked: tokens that were added to it stand in the tokenizer.json alone.
    const std::string_view why = refused.what();
    const auto other = why.find(file + ":") == std::string_view::npos ? std::nullopt : model_beside(file);
    if (!other) throw;
    throw Error(refused.code(),
                fmt::format("{}; the tokenizer.model beside it can be taken instead, without the tokens that the "
                            "tokenizer.json adds: --tokenizer {}",
                            why, *other),
                refused.agreed());
  }
}

}  // namespace octet
