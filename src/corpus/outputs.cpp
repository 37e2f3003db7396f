#include "src/corpus/outputs.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/base/printable.h"
#include "src/base/replace_file.h"
#include "src/base/utf8_piece.h"
#include "src/data/data_facts.h"
#include "src/data/token_file.h"

namespace octet {
namespace fs = std::filesystem;

Outputs outputs_of(const std::string& prefix, const Share& share, bool holdout) {
  const std::string suffix = share.shares > 1 ? fmt::format("-{:05}-of-{:05}", share.share + 1, share.shares) : "";
  return {prefix + suffix, holdout ? prefix + "-holdout" + suffix : ""};
}

void refuse_inputs_in(const std::string& parts, const InputFiles& input) {
  std::error_code failed;
  const std::string folder = fs::weakly_canonical(parts, failed).string();
  if (failed || !fs::exists(folder, failed)) return;
  std::optional<fs::path> before;  // most files have their neighbour's folder
  for (const ListedFile& file : input.files) {
    const fs::path path(file.path), of_file = path.has_parent_path() ? path.parent_path() : ".";
    if (before == of_file) continue;
    before = of_file;
    if (!(fs::weakly_canonical(of_file, failed).string() + '/').starts_with(folder + '/')) continue;
    throw usage_error(
        "corpus", "{} is an input and lies in {}, where the parts of the output would be made: take another --output",
        file.path, parts);
  }
}

void refuse_inputs_as_outputs(const Outputs& outputs, TokenizerKind tokenizer, const InputFiles& input) {
  using Identity = std::pair<dev_t, ino_t>;
  const auto identity = [](const std::string& path) -> std::optional<Identity> {
    struct stat found {};
    if (path.empty() || ::stat(path.c_str(), &found) != 0) return std::nullopt;
    return Identity{found.st_dev, found.st_ino};
  };
  std::set<Identity> replaced;
  for (const std::string& prefix : {outputs.kept, outputs.held_out}) {
    if (prefix.empty()) continue;
    const auto [bin, idx] = token_file_paths(prefix);
    for (const std::string& path : {bin, idx, data_facts_path(prefix), tokenizer_copy_path(prefix, tokenizer)}) {
      if (const auto there = identity(path)) replaced.insert(*there);
    }
  }
  if (replaced.empty()) return;  // as mostly, and then no input need be looked at
  for (const ListedFile& file : input.files) {
    const auto read = identity(file.path);
    if (!read || !replaced.contains(*read)) continue;
    throw usage_error("corpus", "{} is an input, and an output would take its place: take another --output", file.path);
  }
}

TokenizerIdentity identity_of(const TokenizerInfo& info) {
  const auto kind = value_named<TokenizerKind>(info.kind);
  if (!kind) throw internal_error("corpus", "a tokenizer of kind {}", info.kind);
  const std::string file = fs::path(info.path).filename().string();
  // The name is kept in PREFIX.data.json; without this check, writing that file would fail after hours of work.
  if (!is_utf8(file)) {
    throw usage_error("corpus", "{}: the name of the tokenizer's file is no UTF-8; expected one that is: rename it",
                      readable(info.path));
  }
  TokenizerIdentity identity{.kind = *kind,
                             .file = file,
                             .fingerprint = info.fingerprint,
                             .vocab_size = info.vocab_size,
                             .bos = info.bos,
                             .eos = info.eos};
  for (const SpecialToken& token : info.special) identity.special[token.text] = token.id;
  return identity;
}

void write_facts(const std::string& prefix, const TokenCounts& counts, const TokenizerIdentity& tokenizer,
                 const DataOrigin& origin) {
  const std::string path = data_facts_path(prefix);
  DataFacts facts{.range = counts.range, .tokenizer = tokenizer, .text_bytes = counts.text_bytes, .origin = origin};
  if (counts.sum) facts.content = counts.sum->value();
  remove_replacements(path);  // of a process that was killed
  if (write_data_facts(path, TokenFile(prefix), facts)) return;
  log::warning("{}: cannot be written: {}; whoever opens the data will scan them", path, std::strerror(errno));
}

std::string copy_tokenizer(const std::string& prefix, const TokenizerInfo& info) {
  const TokenizerIdentity identity = identity_of(info);
  std::string path = tokenizer_copy_path(prefix, identity.kind);
  if (path.empty()) return path;
  const std::string text = text_of_file("corpus", info.path, "the tokenizer");
  if (tokenizer_fingerprint(text) != info.fingerprint) {
    throw usage_error("corpus", "{} has changed since its tokens were made", info.path);
  }
  remove_replacements(path);
  if (read_text_file(path) == text) return path;
  if (!replace_file(path, text)) throw not_written("corpus", path);
  return path;
}

std::vector<std::string> files_of(const std::string& prefix) {
  std::vector<std::string> files;
  for (const char* suffix : {".bin", ".idx", ".data.json"}) {
    std::error_code failed;
    if (fs::exists(prefix + suffix, failed)) files.push_back(prefix + suffix);
  }
  return files;
}

}  // namespace octet
