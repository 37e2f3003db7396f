#include "src/tokenizer/recorded_tokens.h"

namespace octet {
namespace {

void take(const std::optional<std::int32_t>& recorded, std::int32_t vocab_size, std::optional<std::int32_t>& id) {
  if (recorded && *recorded >= 0 && *recorded < vocab_size) id = recorded;
}

}  // namespace

const RecordedTokens* recorded_of(const TokenizerOptions& options, std::uint64_t fingerprint) {
  return options.recorded && options.recorded->fingerprint == fingerprint ? &*options.recorded : nullptr;
}

void take_recorded_ends(const TokenizerOptions& options, TokenizerInfo& info) {
  const RecordedTokens* recorded = recorded_of(options, info.fingerprint);
  if (recorded == nullptr) return;
  take(recorded->bos, info.vocab_size, info.bos);
  take(recorded->eos, info.vocab_size, info.eos);
}

}  // namespace octet
