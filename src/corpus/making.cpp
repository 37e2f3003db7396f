#include "src/corpus/making.h"

#include <xxhash.h>

#include "src/base/files.h"
#include "src/base/json_reader.h"

namespace octet {
namespace {

/// Changes where the same options and input give other parts than before.
constexpr int version = 1;

std::string text_of_input(const InputFiles& input) {
  std::uint64_t hash = 0;
  for (const InputFile& file : input.files) {
    const std::string text = fmt::format("{}\n{}\n{}\n", file.path, file.bytes, file.changed);
    hash = XXH3_64bits_withSeed(text.data(), text.size(), hash);
  }
  return fmt::format("{} files of {} bytes ({:016x} of paths, sizes and times)", input.files.size(), input.bytes, hash);
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
