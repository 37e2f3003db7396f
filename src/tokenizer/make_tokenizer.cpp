#include "src/tokenizer/make_tokenizer.h"

#include <filesystem>
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
  const std::string bytes = text_of_file("tokenizer", file);
  refuse_lfs_pointer(bytes, "tokenizer", file);  // before its last line is taken for that of a rank file
  if (is_rank_file(bytes)) return load_rank_file(bytes, file, options);
  if (is_sentencepiece_model(bytes)) return load_sentencepiece(bytes, file, options);
  if (is_json(bytes)) return load_tokenizer_json(bytes, file, options);
  throw usage_error("tokenizer", "{}: is neither JSON nor a rank file nor a SentencePiece model", file);
}

}  // namespace octet
