#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// A token that is cut out of a text before it is cut into pieces.
struct AddedToken {
  std::string text;
  std::int32_t id = 0;
  bool special = false;
  bool normalized = false;  ///< searched for only between the added tokens that are not normalized
};

/// Finds texts within a text: of those that begin first, the longest. Any thread.
class TokenFinder {
 public:
  struct Found {
    std::size_t begin = 0;
    const AddedToken* token = nullptr;
  };

  TokenFinder() = default;
  explicit TokenFinder(std::vector<AddedToken> tokens);

  bool empty() const { return tokens_.empty(); }
  /// The first one that begins at `begin` or later.
  std::optional<Found> find(std::string_view text, std::size_t begin) const;
  /// Says whether one might begin before that place and end behind it, if the text goes on.
  bool may_span(std::string_view text, std::size_t place) const;

 private:
  const AddedToken* longest_at(std::string_view rest) const;

  std::vector<AddedToken> tokens_;           ///< by first byte, then the longest first
  std::array<std::size_t, 257> by_first_{};  ///< where those that begin with that byte stand in tokens_
  std::bitset<65536> pairs_;                 ///< first two bytes; for a token of one, with every second
  std::size_t longest_ = 0;
};

/// The added tokens of a tokenizer, found in the order of Hugging Face's library: first those that are not normalized.
/// A special one that is met is passed over as plain text unless `control_tokens`, and no other is found within it.
class AddedTokens {
 public:
  AddedTokens() = default;
  AddedTokens(const std::vector<AddedToken>& tokens, bool control_tokens);

  /// Calls plain(std::string_view) and token(std::int32_t id) for the parts of the text, in their order; they make up
  /// all of it.
  template <typename Plain, typename Token>
  void cut(std::string_view text, const Plain& plain, const Token& token) const {
    cut_by(
        raw_, text, [&](std::string_view part) { cut_by(normalized_, part, plain, token); }, token);
  }

  bool may_span(std::string_view text, std::size_t place) const {
    return raw_.may_span(text, place) || normalized_.may_span(text, place);
  }

 private:
  template <typename Plain, typename Token>
  void cut_by(const TokenFinder& finder, std::string_view text, const Plain& plain, const Token& token) const {
    std::size_t done = 0;
    std::size_t begin = 0;
    while (!finder.empty()) {
      const auto found = finder.find(text, begin);
      if (!found) break;
      begin = found->begin + found->token->text.size();
      if (found->token->special && !control_tokens_) continue;
      if (found->begin > done) plain(text.substr(done, found->begin - done));
      token(found->token->id);
      done = begin;
    }
    if (done < text.size()) plain(text.substr(done));
  }

  TokenFinder raw_;
  TokenFinder normalized_;
  bool control_tokens_ = false;
};

}  // namespace octet
