#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/corpus/json_line.h"

namespace octet {

/// What the records of a chunk are, which also decides how a place in its file is counted: by bytes of the unpacked
/// text, by lines from the chunk's first one, or by rows.
enum class Records : std::uint8_t { text, lines, rows };

/// A piece of a file as it is read: whole lines of JSONL, or documents and parts of them. What a record becomes does
/// not depend on the other records of its chunk.
struct Chunk {
  /// A document or a part of one.
  struct Piece {
    std::size_t begin = 0, bytes = 0;
    bool begins_document = true, ends_document = true;
    std::int64_t place = 0;  ///< of its beginning
  };

  std::size_t unit = 0;  ///< which unit of the part it is of (part_plan.h)
  Records records = Records::text;
  std::vector<Piece> pieces{};   ///< none for lines, which are not looked at yet
  std::int64_t lacking = 0;      ///< rows of a table without a text, which count as broken
  std::int64_t lacking_row = 0;  ///< the first of them

  std::string_view text() const { return {bytes_.data(), size_}; }
  std::string_view text(const Piece& piece) const { return text().substr(piece.begin, piece.bytes); }
  std::size_t size() const { return size_; }
  void append(std::string_view more) {
    resize(size_ + more.size());
    more.copy(bytes_.data() + size_ - more.size(), more.size());
  }
  /// New bytes have no value yet. JsonLine::padding bytes more are there to be read.
  void resize(std::size_t size) {
    if (size + JsonLine::padding > bytes_.size()) bytes_.resize(size + size / 4 + JsonLine::padding);
    size_ = size;
  }
  char* data() { return bytes_.data(); }

 private:
  std::vector<char> bytes_{};
  std::size_t size_ = 0;
};

/// What is wrong with a record, and where.
struct Trouble {
  std::int64_t place = 0;
  std::string what{};
};

/// A chunk's ids. What is wrong is told where chunks come in order.
struct EncodedChunk {
  struct Piece {
    std::size_t ids_end = 0;      ///< in ids
    std::int64_t text_bytes = 0;  ///< that were encoded
    bool ends_document = false, held_out = false;
  };

  std::size_t unit = 0;
  std::size_t chunk_bytes = 0;  ///< of the chunk
  Records records = Records::text;
  std::vector<std::int32_t> ids{};
  std::vector<Piece> pieces{};
  std::int64_t lines = 0;            ///< of JSONL
  std::int64_t empty = 0;            ///< documents without text
  std::int64_t replaced = 0;         ///< pieces that were no UTF-8
  std::int64_t broken = 0;           ///< records without a text
  std::vector<Trouble> shown{};      ///< the first of those
  std::optional<Trouble> refused{};  ///< nothing behind it was looked at
};

}  // namespace octet
