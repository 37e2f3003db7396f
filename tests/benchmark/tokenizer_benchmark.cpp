// How fast a core encodes the pages and sources of this repository, by the vocabulary of the tests with 4,096 entries:
// with Llama 3's pattern, which the automaton matches, with others by PCRE2, and by a SentencePiece model.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/base/files.h"
#include "src/tokenizer/json/load_json.h"
#include "src/tokenizer/make_tokenizer.h"

namespace octet {
namespace {

const std::string source = OCTET_SOURCE_DIR;
const std::string golden = source + "/tests/tokenizer/golden/";

std::vector<std::string> texts() {
  std::vector<std::string> found;
  for (const char* folder : {"/docs", "/src"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source + folder)) {
      const std::string name = entry.path().extension();
      if (name != ".md" && name != ".cpp" && name != ".h") continue;
      if (auto text = read_text_file(entry.path())) found.push_back(*std::move(text));
    }
  }
  return found;
}

void encode(benchmark::State& state, const Tokenizer& tokenizer) {
  const std::vector<std::string> all = texts();
  const auto encoder = tokenizer.make_encoder();
  std::int64_t bytes = 0;
  for (auto _ : state) {
    for (const std::string& text : all) {
      std::vector<std::int32_t> ids;
      encoder->encode(text, ids);
      benchmark::DoNotOptimize(ids.data());
      bytes += static_cast<std::int64_t>(text.size());
    }
  }
  state.SetBytesProcessed(bytes);
}

/// The golden vocabulary with a pre-tokenizer of tests/tokenizer/golden/pre_tokenizers.json, or its own for "llama3".
void encode_by(benchmark::State& state, const std::string& name) {
  nlohmann::json file = nlohmann::json::parse(*read_text_file(golden + "bpe-4096.json"));
  const nlohmann::json others = nlohmann::json::parse(*read_text_file(golden + "pre_tokenizers.json"));
  if (name != "llama3") file["pre_tokenizer"] = others.at(name);
  encode(state, *load_tokenizer_json(file.dump(), name, {}));
}
BENCHMARK_CAPTURE(encode_by, llama3, "llama3");
BENCHMARK_CAPTURE(encode_by, gpt2, "gpt2");
BENCHMARK_CAPTURE(encode_by, qwen2, "qwen2");
BENCHMARK_CAPTURE(encode_by, deepseek_v3, "deepseek-v3");
BENCHMARK_CAPTURE(encode_by, o200k, "o200k");

void encode_sentencepiece(benchmark::State& state, const std::string& file) {
  encode(state, *make_tokenizer(golden + file));
}
BENCHMARK_CAPTURE(encode_sentencepiece, bpe, "spm-bpe.model");
BENCHMARK_CAPTURE(encode_sentencepiece, unigram, "spm-unigram.model");

}  // namespace
}  // namespace octet

BENCHMARK_MAIN();
