#include "src/corpus/part_writer.h"

#include <algorithm>
#include <span>
#include <vector>

#include "src/base/error.h"

namespace octet {

std::int64_t lines_before(const std::string& path, std::int64_t offset) {
  const auto stream = open_plain(path, 0, offset);
  std::vector<char> block(1 << 20);
  std::int64_t lines = 0;
  char last = '\n';
  while (const std::size_t got = stream->read(block)) {
    lines += std::count(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(got), '\n');
    last = block[got - 1];
  }
  return last == '\n' ? lines : lines + 1;
}

PartWriter::PartWriter(const InputPart& part, const Files& files, BrokenRecords& broken)
    : part_(part),
      may_be_empty_(files.may_be_empty),
      inputs_(files.inputs),
      broken_(broken),
      kept_(files.prefix, files.type, files.options) {
  if (!files.holdout.empty()) held_out_ = std::make_unique<TokenFileWriter>(files.holdout, files.type, files.options);
}

void PartWriter::begin_unit(std::size_t unit) {
  while (unit_ < unit) end_unit();
}

void PartWriter::end_unit() {
  if (!unit_has_text_ && part_.units[unit_].begin == 0) ++counts_.empty_files;
  ++unit_;
  unit_has_text_ = false;
  lines_ = 0;
}

std::string PartWriter::place_of(const EncodedChunk& chunk, std::int64_t place) {
  const InputUnit& unit = part_.units[chunk.unit];
  switch (chunk.records) {
    case Records::text:
      return unit.path;
    case Records::lines:
      // Most files have no such line, so those before the unit are counted where one turns up.
      return fmt::format("{}:{}", unit.path,
                         place + lines_ + (unit.begin > 0 ? lines_before(unit.path, unit.begin) : 0));
    case Records::rows:
      return fmt::format("{}: row {} (from 0)", unit.path, place);
  }
  throw internal_error("corpus", "records {}", static_cast<int>(chunk.records));
}

void PartWriter::write(const EncodedChunk& chunk) {
  begin_unit(chunk.unit);
  note_broken(chunk);
  if (chunk.refused) {
    throw usage_error("corpus", "{}: {}", place_of(chunk, chunk.refused->place), chunk.refused->what);
  }
  write_tokens(chunk);
  counts_.empty_documents += chunk.empty;
  counts_.replaced += chunk.replaced;
  lines_ += chunk.lines;
}

void PartWriter::note_broken(const EncodedChunk& chunk) {
  for (const Trouble& trouble : chunk.shown) {
    broken_.add(fmt::format("{}: {}", place_of(chunk, trouble.place), trouble.what));
  }
  broken_.add(chunk.broken - static_cast<std::int64_t>(chunk.shown.size()));
  counts_.broken += chunk.broken;
}

void PartWriter::write_tokens(const EncodedChunk& chunk) {
  std::size_t begin = 0;
  for (const EncodedChunk::Piece& piece : chunk.pieces) {
    TokenFileWriter& writer = piece.held_out ? *held_out_ : kept_;
    writer.append(std::span(chunk.ids).subspan(begin, piece.ids_end - begin));
    writer.count_text(piece.text_bytes);
    if (piece.ends_document) writer.end_document();
    TokenCounts& counts = piece.held_out ? counts_.held_out : counts_.kept;
    counts.text_bytes += piece.text_bytes;
    begin = piece.ids_end;
  }
  unit_has_text_ |= !chunk.pieces.empty();
}

PartCounts PartWriter::finish() {
  begin_unit(part_.units.size());
  if (!may_be_empty_ && kept_.documents() == 0 && (!held_out_ || held_out_->documents() == 0)) {
    throw no_text(inputs_, static_cast<std::int64_t>(part_.units.size()));
  }
  const auto close = [](TokenFileWriter& writer, TokenCounts& counts) {
    writer.count_text(0);  // known, even where it is none
    counts.documents = writer.documents();
    counts.tokens = writer.tokens();
    writer.finish();
    counts.range = writer.range();
    counts.sum = writer.sum();
  };
  if (held_out_) close(*held_out_, counts_.held_out);
  close(kept_, counts_.kept);
  return counts_;
}

}  // namespace octet
