#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/corpus/document_splitter.h"
#include "src/data/entropy.h"

namespace octet {

struct PrepareOptions {
  std::vector<std::string> inputs;  ///< text files and folders
  std::string output;               ///< PREFIX of PREFIX.bin and PREFIX.idx
  std::string tokenizer = "bytes";
  SplitDocuments split = SplitDocuments::none;
  bool overwrite = false;
  std::int64_t chunk_bytes = 4 << 20;  ///< what is read at a time; the result does not depend on it
};

struct PrepareReport {
  std::int64_t files = 0;
  std::int64_t empty_files = 0;  ///< read, but without text, so without a document
  std::int64_t skipped = 0;      ///< hidden files and what is no regular file
  std::int64_t documents = 0;
  std::int64_t tokens = 0;  ///< one end-of-document token a document included
  std::int64_t bytes = 0;   ///< of text read
  double seconds = 0;
  std::string bin_path, idx_path;
  /// The entropies of the token stream as written (stream_entropies of the result is the same); bytes tokenizer only.
  std::optional<ByteEntropies> entropies;
};

/// Tokenizes text into a token file pair, in memory that does not grow with the text (12 bytes a document), with
/// progress on standard error. Either the whole pair is there afterwards or, when it throws, nothing new.
/// Usage errors: no input, unreadable input, a file with a byte that the tokenizer refuses (binary data; path and
/// offset are named), no text at all, an output that exists or cannot be written.
PrepareReport prepare(const PrepareOptions& options);

}  // namespace octet
