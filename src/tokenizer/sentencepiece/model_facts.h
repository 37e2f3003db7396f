#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// What a SentencePiece model says of itself (message ModelProto of sentencepiece_model.proto) and its library does not
/// tell.
struct SentencePieceFacts {
  enum class Type : std::uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
  struct Piece {
    std::string_view text;  ///< within the file's bytes
    Type type = Type::normal;
  };
  static constexpr int unigram = 1, bpe = 2, word = 3, character = 4;

  std::vector<Piece> pieces{};  ///< by id
  int model = unigram;
  bool byte_fallback = false;
};

/// Says whether bytes begin as such a file does.
bool is_sentencepiece_model(std::string_view bytes);

/// Reads it; a usage error with the file's name for what is no such file, or is damaged, or has pieces that the library
/// does not bear.
SentencePieceFacts read_sentencepiece_facts(std::string_view bytes, const std::string& file);

}  // namespace octet
