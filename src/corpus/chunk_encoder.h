#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/base/named_enum.h"
#include "src/corpus/chunk.h"
#include "src/tokenizer/tokenizer.h"

namespace octet {

/// What becomes of text that is no UTF-8 where it has to be: it is refused, or each piece of it becomes U+FFFD.
enum class BadUtf8 : std::uint8_t { refuse, replace };
constexpr auto names_of(BadUtf8) {
  return std::to_array<std::string_view>({"refuse", "replace"});
}

struct EncodeOptions {
  std::string field = "text";
  BadUtf8 bad_utf8 = BadUtf8::refuse;
  std::string bad_utf8_advice{};  ///< what a refusal says behind itself: "--bad-utf8 replace takes it"
  std::int64_t max_document = 64 << 20;
  bool bos = false, eos = true;  ///< whether a document begins and ends with the tokenizer's
  double holdout = 0;            ///< the share of documents that is_held_out takes
};

/// Whether a document is among those held out: a hash of its text (XXH3-64), so that every copy of it is.
bool is_held_out(std::string_view document, double share);

/// Turns chunks into ids. It belongs to one thread; the tokenizer must outlive it.
class ChunkEncoder {
 public:
  ChunkEncoder(const Tokenizer& tokenizer, const EncodeOptions& options);

  /// Never throws because of the text: what is wrong with it comes with the ids.
  EncodedChunk encode(const Chunk& chunk);

 private:
  void encode_lines(const Chunk& chunk, EncodedChunk& out);
  bool encode_line(std::string_view line, EncodedChunk& out);
  void encode_pieces(const Chunk& chunk, EncodedChunk& out);
  bool encode_text(std::string_view text, const Chunk::Piece& piece, EncodedChunk& out);
  std::string with_advice(std::string what) const;
  void note_broken(std::int64_t place, std::string what, EncodedChunk& out);

  const Tokenizer& tokenizer_;
  EncodeOptions options_;
  std::unique_ptr<Encoder> encoder_;
  JsonLine json_;
  std::string mended_, replaced_;
};

}  // namespace octet
