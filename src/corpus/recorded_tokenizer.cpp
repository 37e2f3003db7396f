#include "src/corpus/recorded_tokenizer.h"

namespace octet {
namespace {

std::optional<std::int32_t> id_of(const std::optional<std::int64_t>& id) {
  return id ? std::optional(static_cast<std::int32_t>(*id)) : std::nullopt;
}

}  // namespace

std::unique_ptr<Tokenizer> make_recorded_tokenizer(const std::string& name,
                                                   const std::optional<TokenizerIdentity>& identity,
                                                   bool control_tokens) {
  TokenizerOptions options{.control_tokens = control_tokens};
  if (identity) {
    options.recorded = RecordedTokens{.fingerprint = identity->fingerprint,
                                      .bos = id_of(identity->bos),
                                      .eos = id_of(identity->eos),
                                      .special = identity->special};
  }
  return make_tokenizer(name, options);
}

}  // namespace octet
