#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/corpus/part_counts.h"
#include "src/corpus/prepare_options.h"
#include "src/data/entropy.h"

namespace octet {

struct PrepareReport {
  std::int64_t files = 0;
  std::int64_t skipped = 0;                  ///< hidden files and what is no regular file
  std::int64_t input_bytes = 0;              ///< of the files on the disk
  std::int64_t parts = 0, parts_before = 0;  ///< and how many of them a run before had finished
  /// All of it, by the same command: no text was read, no token written, and no entropies made of the tokens. A copy of
  /// the tokenizer's file that was missing is there now.
  bool made_before = false;
  PartCounts counts{};
  int workers = 0;
  double seconds = 0;
  std::vector<std::string> written{};  ///< paths of all files
  /// The entropies of the token stream as written (stream_entropies of the result is the same); of the bytes tokenizer
  /// only, and of what was not made before.
  std::optional<ByteEntropies> entropies{};
};

/// Tokenizes texts into a token file pair, in memory that does not grow with the texts (but for 12 bytes a document),
/// with progress on standard error. The files are the same for any number of workers. Input larger than part_bytes is
/// made in parts (part_folder.h). When a call is interrupted or throws, a later call with the same options takes over
/// its finished parts; apart from these a call that throws leaves nothing new, and a pair that looks complete is
/// complete. Where a call of the same command has already made the outputs from the same input, nothing is done; what a
/// killed call has begun is made anew.
/// Usage errors: no input, unreadable or broken input, text that the tokenizer refuses and records without a text (with
/// file and place), no text at all, an output that exists or cannot be written.
PrepareReport prepare(const PrepareOptions& options);

}  // namespace octet
