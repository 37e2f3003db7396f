#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/corpus/chunk.h"
#include "src/corpus/document_splitter.h"
#include "src/corpus/file_format.h"
#include "src/tokenizer/tokenizer.h"

namespace octet {

/// A file, or a part of a plain file of lines, that is read on its own.
struct InputUnit {
  std::string path;
  std::int64_t begin = 0, end = 0;  ///< bytes on the disk; lines that begin there are read whole
  FileFormat format{};
  /// The whole file as it was listed: its bytes, and when it was changed; -1: it is not looked at.
  std::int64_t file_bytes = -1, changed = -1;
};

struct ReaderOptions {
  SplitDocuments split = SplitDocuments::none;
  std::string field = "text";            ///< of JSONL and of Parquet
  std::int64_t chunk_bytes = 1 << 20;    ///< about the text in a chunk; the result does not depend on it
  std::int64_t max_document = 64 << 20;  ///< of a line, of a row and of text that cannot be cut
  bool cut_documents = true;             ///< whether a text may come in several pieces
};

/// Reads a unit chunk by chunk. It belongs to one thread at a time.
class ChunkReader {
 public:
  virtual ~ChunkReader() = default;

  /// The next chunk, whose `unit` is left as it is; false at the end. Usage error where the file cannot be read, is
  /// broken, or has a document that is longer than is allowed and cannot be cut.
  virtual bool next(Chunk& chunk) = 0;
  /// Bytes on the disk that were used so far.
  virtual std::int64_t used() const = 0;
};

/// Each line is a record. A line above max_document comes cut off: longer than allowed, and the last.
std::unique_ptr<ChunkReader> read_lines(const InputUnit& unit, const ReaderOptions& options);
/// The tokenizer, which must outlive the reader, says where a document may be cut.
std::unique_ptr<ChunkReader> read_text(const InputUnit& unit, const ReaderOptions& options, const Tokenizer& tokenizer);

/// Each row's text in the column that `field` names; rows without one are counted. Arrow reads it; a usage error in a
/// build without that.
std::unique_ptr<ChunkReader> read_parquet(const InputUnit& unit, const ReaderOptions& options);

/// The reader for the unit's format. Usage error where the file is no longer as it was listed.
std::unique_ptr<ChunkReader> read_unit(const InputUnit& unit, const ReaderOptions& options, const Tokenizer& tokenizer);

}  // namespace octet
