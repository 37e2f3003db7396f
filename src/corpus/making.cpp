#include "src/corpus/making.h"

#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "src/base/files.h"
#include "src/base/json_reader.h"

namespace octet {
namespace {

/// To be raised with every change by which the same options and input give other parts than before.
constexpr int version = 1;

std::string text_of_input(const InputFiles& input) {
  std::uint64_t hash = 0;
  for (const ListedFile& file : input.files) {
    const std::string text = fmt::format("{}\n{}\n{}\n", file.path, file.bytes, file.changed);
    hash = XXH3_64bits_withSeed(text.data(), text.size(), hash);
  }
  return fmt::format("{} files of {} bytes ({:016x} of paths, sizes and times)", input.files.size(), input.bytes, hash);
}

/// What decides how the input is cut into shares.
std::string text_of_cut(const InputFiles& input) {
  std::uint64_t hash = 0;
  for (const ListedFile& file : input.files) {
    const std::string name = std::filesystem::path(file.path).filename().string();
    const std::string text = fmt::format("{}\n{}\n", name, file.bytes);
    hash = XXH3_64bits_withSeed(text.data(), text.size(), hash);
  }
  return fmt::format("{} files of {} bytes ({:016x} of names and sizes)", input.files.size(), input.bytes, hash);
}

/// Without the name of its file: another one of the same content makes the same tokens.
std::string text_of_tokenizer(const TokenizerIdentity& tokenizer) {
  if (tokenizer.kind == TokenizerKind::bytes) return text_of(tokenizer);
  return fmt::format("{} ({:016x}, {} ids)", tokenizer.kind, tokenizer.fingerprint, tokenizer.vocab_size);
}

/// -1 for what is none: anybody may have edited the file.
std::int64_t number_of(const std::string& text) {
  std::int64_t number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

Making making_of(const PrepareOptions& options, const InputFiles& input, const TokenizerIdentity& tokenizer) {
  return {{"version", std::to_string(version)},
          {"--input", text_of_input(input)},
          {"--tokenizer", text_of(tokenizer)},
          {"--control-tokens", options.tokenizer_options.control_tokens ? "true" : "false"},
          {"the token that begins a document", tokenizer.bos ? std::to_string(*tokenizer.bos) : "none"},
          {"the token that ends a document", tokenizer.eos ? std::to_string(*tokenizer.eos) : "none"},
          {"--format", options.format ? std::string(name_of(*options.format)) : "auto"},
          {"--field", options.field},
          {"--split-documents", options.split == SplitDocuments::none ? "none" : "blank-lines"},
          {"--bos", options.bos ? "true" : "false"},
          {"--eos", options.eos ? "true" : "false"},
          {"--bad-utf8", std::string(name_of(options.bad_utf8))},
          {"--max-document", std::to_string(options.max_document)},
          {"--holdout", fmt::format("{}", options.holdout)},
          {"--part", fmt::format("{}/{}", options.part.share + 1, options.part.shares)},
          {"--part-size", std::to_string(options.part_bytes)}};
}

DataOrigin origin_of(const Making& making, const PrepareOptions& options, const InputFiles& input,
                     const TokenizerIdentity& tokenizer) {
  DataOrigin origin{.making = making, .bos = options.bos, .eos = options.eos};
  // How a whole is cut into parts that are joined does not matter.
  if (options.part.shares == 1) origin.making.erase("--part-size");
  origin.making["--tokenizer"] = text_of_tokenizer(tokenizer);
  const std::string all = nlohmann::json(origin.making).dump();
  origin.command = XXH3_64bits(all.data(), all.size());
  origin.making["--input"] = text_of_cut(input);
  origin.making["--part"] = fmt::format("of {}", options.part.shares);
  for (const char* name : {"--bad-utf8", "--max-document", "--format"}) origin.making.erase(name);
  return origin;
}

bool can_go_on(const Making& before, const Making& now) {
  if (before.size() != now.size()) return false;
  return std::ranges::all_of(now, [&](const auto& option) {
    const auto& [name, value] = option;
    const auto old = before.find(name);
    if (old == before.end()) return false;
    if (old->second == value) return true;
    if (name == "--bad-utf8") return old->second == name_of(BadUtf8::refuse) && value == name_of(BadUtf8::replace);
    return name == "--max-document" && number_of(old->second) > 0 && number_of(old->second) <= number_of(value);
  });
}

std::optional<Making> read_making(const std::string& path) {
  const std::optional<std::string> text = read_text_file(path);
  if (!text) return std::nullopt;
  try {
    const nlohmann::json parsed = parse_json(*text, "corpus", path, "what the parts are made of");
    Making making;
    for (const auto& [name, value] : JsonReader(parsed, "corpus", path).members()) making[name] = value.text();
    return making.contains("--input") ? std::optional(making) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace octet
