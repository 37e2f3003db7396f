#include "src/tokenizer/bpe/added_tokens.h"

#include <algorithm>
#include <utility>

namespace octet {
namespace {

std::uint8_t first_byte(const AddedToken& token) {
  return static_cast<std::uint8_t>(token.text[0]);
}

std::size_t pair_of(std::string_view text, std::size_t begin) {
  return std::size_t{static_cast<std::uint8_t>(text[begin])} << 8 | static_cast<std::uint8_t>(text[begin + 1]);
}

/// The tokens to look for in a text; none where none of them may be cut out, which is so with most files.
std::vector<AddedToken> looked_for(const std::vector<AddedToken>& tokens, bool normalized, bool control_tokens) {
  std::vector<AddedToken> out;
  bool any = false;
  for (const AddedToken& token : tokens) {
    if (token.normalized != normalized) continue;
    any = any || control_tokens || !token.special;
    out.push_back(token);
  }
  return any ? out : std::vector<AddedToken>();
}

}  // namespace

TokenFinder::TokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::ranges::sort(tokens_, [](const AddedToken& a, const AddedToken& b) {
    return std::pair(first_byte(a), b.text.size()) < std::pair(first_byte(b), a.text.size());
  });
  for (const AddedToken& token : tokens_) {
    ++by_first_[first_byte(token) + 1u];
    longest_ = std::max(longest_, token.text.size());
    if (token.text.size() > 1) {
      pairs_.set(pair_of(token.text, 0));
    } else {
      for (std::size_t second = 0; second < 256; ++second) pairs_.set(std::size_t{first_byte(token)} << 8 | second);
    }
  }
  for (std::size_t byte = 0; byte < 256; ++byte) by_first_[byte + 1] += by_first_[byte];
}

std::optional<TokenFinder::Found> TokenFinder::find(std::string_view text, std::size_t begin) const {
  for (; begin < text.size(); ++begin) {
    if (begin + 1 < text.size() && !pairs_[pair_of(text, begin)]) continue;
    const AddedToken* token = longest_at(text.substr(begin));
    if (token != nullptr) return Found{begin, token};
  }
  return std::nullopt;
}

const AddedToken* TokenFinder::longest_at(std::string_view rest) const {
  const auto first = static_cast<std::uint8_t>(rest[0]);
  for (std::size_t i = by_first_[first]; i < by_first_[first + 1u]; ++i) {
    if (rest.starts_with(tokens_[i].text)) return &tokens_[i];
  }
  return nullptr;
}

bool TokenFinder::may_span(std::string_view text, std::size_t place) const {
  const std::size_t first = place - std::min(place, longest_ == 0 ? 0 : longest_ - 1);
  for (std::size_t begin = first; begin < place; ++begin) {
    for (const AddedToken& token : tokens_) {
      if (begin + token.text.size() <= place) continue;
      const std::string_view there = text.substr(begin, token.text.size());  // shorter where the text ends
      if (std::string_view(token.text).starts_with(there)) return true;
    }
  }
  return false;
}

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens, bool control_tokens)
    : raw_(looked_for(tokens, false, control_tokens)),
      normalized_(looked_for(tokens, true, control_tokens)),
      control_tokens_(control_tokens) {}

}  // namespace octet
