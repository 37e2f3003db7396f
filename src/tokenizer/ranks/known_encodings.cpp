#include "src/tokenizer/ranks/known_encodings.h"

#include <fmt/format.h>

#include "src/tokenizer/split/known_patterns.h"

namespace octet {
namespace {

/// In the order of Meta's code for Llama 3. That for 3.1 and later (llama_models/llama3/tokenizer.py of PyPI's
/// llama-models 0.3.0) has five of these names at the same ids, calls 4, 5, 8, 10 and 11 <|finetune_right_pad_id|>,
/// <|step_id|>, <|eom_id|>, <|python_tag|> and <|image|>, and counts the reserved ones on from there; the ranks of the
/// file are the same, so that it does not say which it is.
std::vector<SpecialToken> special_of_llama3(std::int32_t first) {
  std::vector<SpecialToken> tokens;
  const auto add = [&](std::string text) {
    tokens.push_back({std::move(text), first + static_cast<std::int32_t>(tokens.size())});
  };
  const auto reserve = [&](int begin, int end) {
    for (int i = begin; i < end; ++i) add(fmt::format("<|reserved_special_token_{}|>", i));
  };
  add("<|begin_of_text|>");
  add("<|end_of_text|>");
  reserve(0, 4);
  add("<|start_header_id|>");
  add("<|end_header_id|>");
  reserve(4, 5);
  add("<|eot_id|>");
  reserve(5, 251);
  return tokens;
}

/// In tiktoken's numbers; some ids between have no token.
std::vector<KnownEncoding> known_encodings() {
  const std::string end = "<|endoftext|>";
  const std::vector<SpecialToken> of_cl100k = {{end, 100257},
                                               {"<|fim_prefix|>", 100258},
                                               {"<|fim_middle|>", 100259},
                                               {"<|fim_suffix|>", 100260},
                                               {"<|endofprompt|>", 100276}};
  return {
      {"r50k_base", 50256, 50256, gpt2_pattern, {{end, 50256}}, std::nullopt, 50256},
      {"p50k_base", 50280, 50281, gpt2_pattern, {{end, 50256}}, std::nullopt, 50256},
      {"cl100k_base", 100256, 100256, "", of_cl100k, std::nullopt, 100257},
      {"o200k_base", 199998, 199998, o200k_pattern, {{end, 199999}, {"<|endofprompt|>", 200018}}, std::nullopt, 199999},
      {"Llama 3", 128000, 128000, "", special_of_llama3(128000), 128000, 128001},
  };
}

}  // namespace

std::optional<KnownEncoding> known_encoding(std::int32_t ranks, std::int32_t end) {
  for (KnownEncoding& known : known_encodings()) {
    if (known.ranks == ranks && known.end == end) return std::move(known);
  }
  return std::nullopt;
}

}  // namespace octet
