#include "src/evaluate/text_stream.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/corpus/utf8.h"

namespace octet {
namespace {

constexpr std::size_t most_pending = 8;  ///< no character has so many tokens
constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// The text ends within a character: with its beginning, or as SentencePiece shows one that lacks bytes.
bool ends_within_character(std::string_view text) {
  if (text.ends_with(replacement)) return true;
  // Only the last bytes are looked at, since the text before them may be broken for good. They are the beginning of a
  // character where some bytes more make it whole.
  for (std::size_t size = 1; size <= std::min<std::size_t>(text.size(), 3); ++size) {
    const std::string rest(text.substr(text.size() - size));
    for (const std::string_view more : {"\x80", "\x80\x80", "\x80\x80\x80", "\xA0\x80", "\x90\x80\x80"}) {
      if (!find_bad_utf8(rest + std::string(more))) return true;
    }
  }
  return false;
}

}  // namespace

std::string TextStream::text_of_pending() const {
  std::vector<std::int32_t> all = told_;
  all.insert(all.end(), pending_.begin(), pending_.end());
  const std::string before = tokenizer_.decode(told_), whole = tokenizer_.decode(all);
  return whole.substr(std::min(before.size(), whole.size()));
}

std::string TextStream::tell(std::string text) {
  told_ = std::exchange(pending_, {});
  if (!find_bad_utf8(text)) return text;
  std::string mended;
  replace_bad_utf8(text, mended);
  return mended;
}

std::string TextStream::add(std::int32_t token) {
  pending_.push_back(token);
  std::string text = text_of_pending();
  if (pending_.size() < most_pending && ends_within_character(text)) return {};
  return tell(std::move(text));
}

std::string TextStream::finish() {
  return pending_.empty() ? std::string() : tell(text_of_pending());
}

}  // namespace octet
