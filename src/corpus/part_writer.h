#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/corpus/broken_records.h"
#include "src/corpus/chunk.h"
#include "src/corpus/part_counts.h"
#include "src/corpus/part_plan.h"
#include "src/data/token_writer.h"

namespace octet {

/// Writes a part's tokens, whose chunks come in order. One thread at a time; the part must outlive it.
class PartWriter {
 public:
  struct Files {
    std::string prefix;
    std::string holdout{};  ///< the prefix of documents that are held out; empty: none are
    TokenType type = TokenType::u8;
    TokenFileWriter::Options options{};
    bool may_be_empty = true;
    std::vector<std::string> inputs{};  ///< as they were given, for the error about an empty part
  };

  PartWriter(const InputPart& part, const Files& files, BrokenRecords& broken);

  /// Usage error for text that is refused and for too many broken records, with the file and the place.
  void write(const EncodedChunk& chunk);
  /// Commits the files, the held-out ones first. Usage error for a part without a document that must not be empty.
  PartCounts finish();

 private:
  void begin_unit(std::size_t unit);
  void end_unit();
  std::string place_of(const EncodedChunk& chunk, std::int64_t place);
  void note_broken(const EncodedChunk& chunk);
  void write_tokens(const EncodedChunk& chunk);

  const InputPart& part_;
  bool may_be_empty_;
  std::vector<std::string> inputs_;
  BrokenRecords& broken_;
  TokenFileWriter kept_;
  std::unique_ptr<TokenFileWriter> held_out_{};
  PartCounts counts_{};
  std::size_t unit_ = 0;
  bool unit_has_text_ = false;
  std::int64_t lines_ = 0;  ///< of the unit, before the chunk that comes
};

/// Lines of a file that begin before a byte of it.
std::int64_t lines_before(const std::string& path, std::int64_t offset);

}  // namespace octet
