#pragma once

#include <cstddef>
#include <string_view>

#include "src/tokenizer/split/code_points.h"

namespace octet {

/// The pattern of Llama 3 and of OpenAI's cl100k_base, as their files write it.
inline constexpr std::string_view llama3_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// Cuts text into the pieces that llama3_pattern matches one after the other; they are all of the text. The classes of
/// characters are those of Unicode 16.0. It has no state that changes: any thread.
class Llama3Split {
 public:
  /// Where the piece ends that begins at `begin`, which is less than the size of the UTF-8 text.
  std::size_t piece_end(std::string_view text, std::size_t begin) const;

  /// Calls call(std::string_view piece) with each piece of a text, from the first to the last.
  template <typename Call>
  void for_each_piece(std::string_view text, const Call& call) const {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = piece_end(text, begin);
      call(text.substr(begin, end - begin));
      begin = end;
    }
  }

  /// The last place behind which text that goes on may be cut, so that the pieces of the two parts are those of the
  /// whole: behind a CR or LF and before a character that is no space. No piece goes over such a place, and none looks
  /// beyond it, as no alternative of the pattern takes or demands a character other than a space behind a line's end.
  /// 0 where there is none. The last character of `text` may be cut off.
  std::size_t last_cut(std::string_view text) const;

 private:
  std::size_t run_end(std::string_view text, std::size_t begin, CodePointClass type) const;
  std::size_t number_end(std::string_view text, std::size_t begin) const;
  std::size_t symbols_end(std::string_view text, std::size_t begin) const;
  std::size_t spaces_end(std::string_view text, std::size_t begin) const;

  const CodePointClasses& classes_ = CodePointClasses::get();
};

}  // namespace octet
