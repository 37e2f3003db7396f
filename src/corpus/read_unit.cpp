#include "src/base/error.h"
#include "src/corpus/chunk_reader.h"

namespace octet {

std::unique_ptr<ChunkReader> read_unit(const Unit& unit, const ReaderOptions& options, const Tokenizer& tokenizer) {
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
