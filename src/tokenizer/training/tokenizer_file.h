#pragma once

#include <optional>
#include <string>

#include "src/tokenizer/training/bpe_trainer.h"

namespace octet {

/// The text of a Hugging Face tokenizer.json with this vocabulary, the Llama-3 pattern and, where `bos` names a special
/// token, a template that begins a text with it.
std::string tokenizer_json(const TrainedBpe& trained, const std::optional<std::string>& bos);

}  // namespace octet
