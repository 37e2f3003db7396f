#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "src/data/mapped_file.h"
#include "src/data/token_type.h"

namespace octet {

/// What whoever has validated a pair tells others of it.
struct PairFacts {
  TokenType type = TokenType::u8;
  std::int64_t sequences = 0;
  std::int64_t documents = 0;
  std::int64_t bin_bytes = 0;     ///< length of the .bin file
  std::uint64_t fingerprint = 0;  ///< TokenPair::fingerprint()
};

/// Reads a pair PREFIX.bin / PREFIX.idx of Megatron's indexed datasets (token_type.h has the format), mapped
/// read-only, as one stream of tokens across document borders. Usage errors name file, numbers and what was expected.
/// Const members may be called from several threads.
class TokenPair {
 public:
  /// Opens both files, and validates the whole index against the .bin file; 20 bytes are read per document. `path` is
  /// PREFIX, PREFIX.bin or PREFIX.idx. A file that the file system does not give is a files::ReadError (mapped_file.h).
  /// `progress` hears of bytes of the index, and may throw to stop.
  explicit TokenPair(const std::string& path, const std::function<void(std::int64_t)>& progress = {});
  /// A pair that another process has validated, in a run whose ranks share that work. Opens nothing: each file is
  /// opened when it is first read, with retries (files::with_retries). It must then be as long as the facts say, and
  /// have a header that agrees with them; otherwise an internal error, since both were so when the run began. Even if
  /// the index has other content than the validated one, no byte outside the file is read.
  TokenPair(std::string prefix, const PairFacts& facts);
  /// A pair whose .bin file may be gone, by its index alone, which is validated as above: what it says of the tokens
  /// can be asked for, and not the tokens.
  static TokenPair of_index(const std::string& prefix);

  std::int64_t tokens() const { return facts_.bin_bytes / size_of(facts_.type); }
  std::int64_t sequences() const { return facts_.sequences; }
  std::int64_t documents() const { return facts_.documents; }
  TokenType type() const { return facts_.type; }
  const std::string& prefix() const { return prefix_; }
  std::string bin_path() const { return prefix_ + ".bin"; }
  std::string idx_path() const { return prefix_ + ".idx"; }

  /// Tokens of a sequence, and the first sequence of a document; behind the last document the number of sequences.
  std::int64_t size_at(std::int64_t sequence) const;
  std::int64_t document_start_at(std::int64_t document) const;

  /// First token and number of tokens of a document.
  std::int64_t document_begin(std::int64_t document) const;
  std::int64_t document_tokens(std::int64_t document) const;

  /// Tokens [position, position + out.size()). Usage error for an id outside [0, vocab_size), which names id and
  /// position; internal error for a range that is not in the file.
  void read(std::int64_t position, std::span<std::int32_t> out, std::int64_t vocab_size) const;

  /// token_fingerprint of the two files. Made once.
  std::uint64_t fingerprint() const;
  /// For the other constructor, in another process.
  PairFacts facts() const;

 private:
  /// A file that is mapped when it is first asked for.
  class LateFile {
   public:
    /// Null until it has been opened and checked.
    const MappedFile* open() const { return open_.load(std::memory_order_acquire); }
    /// `check` looks at the file once, before anybody else does. Of several threads one opens it while the others wait.
    std::span<const std::uint8_t> bytes(const std::string& path, const std::function<void(const MappedFile&)>& check);

   private:
    std::mutex mutex_;
    std::optional<MappedFile> file_;
    std::atomic<const MappedFile*> open_ = nullptr;
  };
  struct Late {
    LateFile idx, bin;
    std::mutex mutex;  ///< of the fingerprint
    std::optional<std::uint64_t> fingerprint;
  };

  std::span<const std::uint8_t> idx() const;
  std::span<const std::uint8_t> bin() const;
  std::int64_t offset_at(std::int64_t sequence) const;
  void check_sequences(const std::function<void(std::int64_t)>& progress) const;
  void check_documents(const std::function<void(std::int64_t)>& progress) const;

  std::string prefix_;
  PairFacts facts_;             ///< but for the fingerprint
  std::unique_ptr<Late> late_;  ///< where it is, since a pair may be moved
};

/// Tells data sets apart, for resuming a run: XXH3-64 of the whole index, the .bin file's length and up to 64 evenly
/// spaced blocks of 64 KiB of it (so a .bin file up to 4 MiB counts whole; in a longer one a change of the same length
/// between the blocks stays unseen). Of both files' bytes.
std::uint64_t token_fingerprint(std::span<const std::uint8_t> idx, std::span<const std::uint8_t> bin);

/// PREFIX of PREFIX, PREFIX.bin or PREFIX.idx.
std::string token_prefix_of(const std::string& path);

}  // namespace octet
