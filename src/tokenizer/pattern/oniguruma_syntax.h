#pragma once

#include <string>
#include <string_view>

namespace octet {

// Patterns of a tokenizer.json are those of Oniguruma, in the syntax that bears its name, with UTF-8. Other libraries
// read some of them otherwise: \h is a hexadecimal digit there, a{1,3}+ repeats a{1,3}, a class may hold classes, ^ and
// $ are about lines.

/// The same pattern for PCRE2 with the options UTF and UCP and LF alone as the end of a line.
struct TranslatedPattern {
  std::string pcre2{};
  std::string refused{};  ///< what of the pattern is not done, for the user; empty: nothing
};

/// Translates what is known to mean the same in both, and refuses all else: back references, names, options other than
/// (?i:...), \h, \b, \w, \R, &&, [:alpha:]. Within (?i:...) only ASCII is done, without letters that Unicode folds
/// together, such as ss. Characters have the properties of Unicode 16.0, as in Hugging Face's tokenizers 0.23.
TranslatedPattern translate_oniguruma(std::string_view pattern);

/// The pattern that finds this text, whatever it holds.
std::string literal_pattern(std::string_view text);

}  // namespace octet
