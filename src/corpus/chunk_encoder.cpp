#include "src/corpus/chunk_encoder.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/base/progress.h"
#include "src/corpus/utf8.h"

namespace octet {
namespace {

constexpr std::size_t most_shown = 10;

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

}  // namespace

bool is_held_out(std::string_view document, double share) {
  if (share <= 0) return false;
  const double place = std::ldexp(static_cast<double>(XXH3_64bits(document.data(), document.size()) >> 11), -53);
  return place < share;
}

ChunkEncoder::ChunkEncoder(const Tokenizer& tokenizer, const EncodeOptions& options)
    : tokenizer_(tokenizer), options_(options), encoder_(tokenizer.make_encoder()), json_(options.field) {}

EncodedChunk ChunkEncoder::encode(const Chunk& chunk) {
  EncodedChunk out;
  out.unit = chunk.unit;
  out.chunk_bytes = chunk.size();
  out.records = chunk.records;
  out.ids.reserve(chunk.size() / 3);
  if (chunk.records == Records::lines) {
    encode_lines(chunk, out);
  } else {
    encode_pieces(chunk, out);
  }
  return out;
}

void ChunkEncoder::encode_lines(const Chunk& chunk, EncodedChunk& out) {
  std::string_view left = chunk.text();
  while (!left.empty()) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    ++out.lines;
    if (!encode_line(left.substr(0, end), out)) return;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
}

bool ChunkEncoder::encode_line(std::string_view line, EncodedChunk& out) {
  // Checked first, and also for a line of blanks: the reader stops within a line that is too long, and the rest of the
  // file may hold more lines.
  if (line.size() > static_cast<std::size_t>(options_.max_document)) {
    out.refused = {out.lines, fmt::format("is longer than --max-document {}", format_bytes(options_.max_document))};
    return false;
  }
  if (is_blank(line)) return true;
  JsonLine::Result result = json_.parse(line);
  if (result == JsonLine::Result::bad_utf8) {
    const std::int64_t mended = mend_json(line, mended_);
    if (mended > 0 && options_.bad_utf8 == BadUtf8::refuse) {
      const auto at = find_bad_utf8(line);
      out.refused = {out.lines, with_advice(at ? fmt::format("byte {} of the line is no UTF-8", *at)
                                               : "an escape is half of a surrogate pair")};
      return false;
    }
    out.replaced += mended;
    const std::size_t size = mended_.size();
    mended_.resize(size + JsonLine::padding);
    if (mended > 0) result = json_.parse(std::string_view(mended_).substr(0, size));
  }
  if (result != JsonLine::Result::text) {
    note_broken(out.lines, json_.why(), out);
    return true;
  }
  return encode_text(json_.text(), {.place = out.lines}, out);
}

void ChunkEncoder::encode_pieces(const Chunk& chunk, EncodedChunk& out) {
  if (chunk.lacking > 0) {
    note_broken(chunk.lacking_row, fmt::format("has no text as \"{}\", but null", options_.field), out);
    out.broken = chunk.lacking;
  }
  for (const Chunk::Piece& piece : chunk.pieces) {
    if (!encode_text(chunk.text(piece), piece, out)) return;
  }
}

bool ChunkEncoder::encode_text(std::string_view text, const Chunk::Piece& piece, EncodedChunk& out) {
  const auto refuse = [&](std::size_t at, std::string_view what) {
    const bool in_file = out.records == Records::text;
    out.refused = {piece.place, fmt::format("byte {} at offset {}{} is {}", static_cast<std::uint8_t>(text[at]),
                                            static_cast<std::int64_t>(at) + (in_file ? piece.place : 0),
                                            in_file ? "" : " of the text", what)};
    return false;
  };
  if (piece.begins_document && piece.ends_document && text.empty()) {
    ++out.empty;
    return true;
  }
  if (out.records == Records::rows && text.size() > static_cast<std::size_t>(options_.max_document)) {
    out.refused = {piece.place, fmt::format("is longer than --max-document {}", format_bytes(options_.max_document))};
    return false;
  }
  if (const auto bad = tokenizer_.find_refused(text)) {
    return refuse(*bad, fmt::format("not text for the {} tokenizer; is the file binary?", tokenizer_.info().kind));
  }
  if (const auto bad = tokenizer_.needs_utf8() ? find_bad_utf8(text) : std::nullopt) {
    if (options_.bad_utf8 == BadUtf8::refuse) return refuse(*bad, with_advice("no UTF-8"));
    out.replaced += replace_bad_utf8(text, replaced_);
    text = replaced_;
  }
  if (piece.begins_document && options_.bos) out.ids.push_back(*tokenizer_.info().bos);
  encoder_->encode(text, out.ids);
  if (piece.ends_document && options_.eos) out.ids.push_back(*tokenizer_.info().eos);
  const bool whole = piece.begins_document && piece.ends_document;
  out.pieces.push_back({.ids_end = out.ids.size(),
                        .text_bytes = static_cast<std::int64_t>(text.size()),
                        .ends_document = piece.ends_document,
                        .held_out = whole && is_held_out(text, options_.holdout)});
  return true;
}

std::string ChunkEncoder::with_advice(std::string what) const {
  return options_.bad_utf8_advice.empty() ? what : fmt::format("{}; {}", what, options_.bad_utf8_advice);
}

void ChunkEncoder::note_broken(std::int64_t place, std::string what, EncodedChunk& out) {
  ++out.broken;
  if (out.shown.size() < most_shown) out.shown.push_back({place, std::move(what)});
}

}  // namespace octet
