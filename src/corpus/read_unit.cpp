#include "src/base/error.h"
#include "src/corpus/chunk_reader.h"
#include "src/corpus/input_files.h"

namespace octet {
namespace {

/// What a longer or shorter file holds now is not what the parts before it were cut by.
void refuse_changed(const InputUnit& unit) {
  if (unit.file_bytes < 0) return;
  const ListedFile now = look_at_file(unit.path);
  if (now.bytes == unit.file_bytes && now.changed == unit.changed) return;
  throw usage_error("corpus", "{}: has changed while octet prepare ran: it had {} bytes, and has {}", unit.path,
                    unit.file_bytes, now.bytes);
}

}  // namespace

std::unique_ptr<ChunkReader> read_unit(const InputUnit& unit, const ReaderOptions& options,
                                       const Tokenizer& tokenizer) {
  refuse_changed(unit);
  switch (unit.format.text) {
    case TextFormat::text:
      return read_text(unit, options, tokenizer);
    case TextFormat::jsonl:
      return read_lines(unit, options);
    case TextFormat::parquet:
      return read_parquet(unit, options);
  }
  throw internal_error("corpus", "{}: format {}", unit.path, static_cast<int>(unit.format.text));
}

}  // namespace octet
