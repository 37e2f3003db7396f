#pragma once

#include <string>
#include <string_view>

namespace octet {

/// What is wrong with the map of characters of a normalizer (precompiled_charsmap); empty: nothing. SentencePiece walks
/// it without looking where it goes, so that a damaged one ends the program.
std::string wrong_in_character_map(std::string_view map);

}  // namespace octet
