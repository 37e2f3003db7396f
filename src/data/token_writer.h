#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/data/data_origin.h"
#include "src/data/token_range.h"
#include "src/data/token_sum.h"
#include "src/data/token_type.h"
#include "src/data/tokenizer_identity.h"

namespace octet {

/// Writes PREFIX.bin and PREFIX.idx in Megatron's format, as a stream of tokens: tokens go to disk through a small
/// buffer, and the index (4 bytes a sequence and 8 a document) is kept in memory until the end.
/// Everything is written under PREFIX.bin.tmp and PREFIX.idx.tmp; finish() fsyncs, writes PREFIX.data.json
/// (data_facts.h) and renames, .idx last, so that a pair that looks whole is whole, and that of one that is not the
/// side file says what it was to be. A writer that is destroyed before finish() removes its temporary files. One writer
/// at a time may write to a prefix: it has the lock of the .bin file until both files have their names. Throws a usage
/// error for an output that exists or cannot be created, an internal error for a failing disk. Not thread-safe.
class TokenFileWriter {
 public:
  struct Options {
    bool overwrite = false;
    /// A longer document is stored as several sequences, because the format counts a sequence's tokens in int32.
    std::int64_t max_sequence_tokens = std::numeric_limits<std::int32_t>::max();
    std::optional<TokenizerIdentity> tokenizer{};  ///< that made the ids; none: not known
    std::optional<DataOrigin> origin{};            ///< none: not known
  };

  /// Creates missing parent folders.
  TokenFileWriter(std::string prefix, TokenType type, const Options& options);
  TokenFileWriter(std::string prefix, TokenType type) : TokenFileWriter(std::move(prefix), type, Options{}) {}
  ~TokenFileWriter();
  TokenFileWriter(const TokenFileWriter&) = delete;
  TokenFileWriter& operator=(const TokenFileWriter&) = delete;

  /// The document's next tokens; internal error for an id that the token type cannot hold.
  void append(std::span<const std::int32_t> ids);
  void end_document();
  /// Notes that the tokens stand for so many more bytes of text; without a call it is not known for how many.
  void count_text(std::int64_t bytes) { text_bytes_ = text_bytes_.value_or(0) + bytes; }
  /// Remembers what is known of the pair, where that cannot be written with a warning, and commits it. A document that
  /// was not ended is an internal error.
  void finish();

  std::int64_t tokens() const { return tokens_; }
  std::int64_t documents() const { return static_cast<std::int64_t>(document_starts_.size()) - 1; }
  // These are of what is written; after finish() of all.
  const TokenRange& range() const { return range_; }
  const TokenSum& sum() const { return sum_; }
  std::string bin_path() const { return prefix_ + ".bin"; }
  std::string idx_path() const { return prefix_ + ".idx"; }

 private:
  void refuse_existing() const;
  void create_files();
  void close_sequence();
  void flush();
  void write_index();
  void commit();
  std::string facts() const;

  std::string prefix_;
  TokenType type_;
  Options options_;
  int bin_ = -1;
  int idx_ = -1;
  bool owns_files_ = false;
  std::vector<std::uint8_t> buffer_;
  std::vector<std::int32_t> sequence_sizes_;
  std::vector<std::int64_t> document_starts_{0};
  std::int64_t sequence_tokens_ = 0;  ///< of the sequence being written
  std::int64_t tokens_ = 0;
  std::optional<std::int64_t> text_bytes_{};
  TokenRange range_;
  TokenSum sum_;
};

/// Usage error where another process is just giving its files their names: PREFIX.bin, on which that writer holds the
/// lock, has its name already, and PREFIX.idx.tmp not yet. To be called while holding the lock of PREFIX.bin.tmp,
/// before PREFIX.idx.tmp is touched.
void refuse_while_committed(const std::string& prefix);

/// Gives PREFIX.bin.tmp and PREFIX.idx.tmp, which are open and written, their names: flushes them to the disk, takes
/// away an old index and what is known of old data, writes `facts` in its place, the text of the side file, and
/// renames, the index last. Without facts, or where they cannot be written, which is a warning, there is no side file.
/// Internal error where the machine refuses.
void commit_token_files(const std::string& prefix, int bin, int idx, const std::string& facts = "");

}  // namespace octet
