#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "src/data/mapped_file.h"
#include "src/data/token_type.h"

namespace octet {

/// Reads a pair PREFIX.bin / PREFIX.idx of Megatron's indexed datasets (token_type.h has the format), mapped
/// read-only, as one stream of tokens across document borders. Opening validates the whole index against the .bin
/// file (20 bytes are read per document); usage errors name file, numbers and what was expected. Const members may be
/// called from several threads.
class TokenPair {
 public:
  /// `path` is PREFIX, PREFIX.bin or PREFIX.idx.
  explicit TokenPair(const std::string& path);

  std::int64_t tokens() const { return static_cast<std::int64_t>(bin_.bytes().size()) / size_of(type_); }
  std::int64_t sequences() const { return sequences_; }
  std::int64_t documents() const { return documents_; }
  TokenType type() const { return type_; }
  const std::string& prefix() const { return prefix_; }
  std::string bin_path() const { return prefix_ + ".bin"; }
  std::string idx_path() const { return prefix_ + ".idx"; }

  /// First token and number of tokens of a document.
  std::int64_t document_begin(std::int64_t document) const;
  std::int64_t document_tokens(std::int64_t document) const;

  /// Tokens [position, position + out.size()). Usage error for an id outside [0, vocab_size), which names id and
  /// position; internal error for a range that is not in the file.
  void read(std::int64_t position, std::span<std::int32_t> out, std::int64_t vocab_size) const;

  /// Tells data sets apart, for resuming a run: XXH3-64 of the whole index, the .bin file's length and up to 64 evenly
  /// spaced blocks of 64 KiB of it (so a .bin file up to 4 MiB counts whole; in a longer one a change of the same
  /// length between the blocks stays unseen).
  std::uint64_t fingerprint() const;

 private:
  std::int64_t size_at(std::int64_t sequence) const;
  std::int64_t offset_at(std::int64_t sequence) const;
  std::int64_t document_start_at(std::int64_t document) const;
  void read_header();
  void check_sequences() const;
  void check_documents() const;

  std::string prefix_;
  MappedFile idx_;
  MappedFile bin_;
  TokenType type_ = TokenType::u8;
  std::int64_t sequences_ = 0;
  std::int64_t documents_ = 0;
};

/// PREFIX of PREFIX, PREFIX.bin or PREFIX.idx.
std::string token_prefix_of(const std::string& path);

}  // namespace octet
