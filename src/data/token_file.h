#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/data/token_pair.h"

namespace octet {

/// Token data as one stream of tokens across document borders: a pair PREFIX.bin / PREFIX.idx (token_pair.h), or where
/// there is none the pairs PREFIX-00001-of-00004 to PREFIX-00004-of-00004, which `octet prepare --part` writes, in
/// their order. Const members may be called from several threads.
class TokenFile {
 public:
  /// `path` is PREFIX, PREFIX.bin or PREFIX.idx. Usage errors for files that are missing or damaged, and for parts of
  /// which one is missing, or that are stored in several token types. What the file system does not give is a
  /// files::ReadError (mapped_file.h).
  explicit TokenFile(const std::string& path);
  /// Of pairs that are known already: those of token_prefixes(path), in their order. Usage error as above.
  TokenFile(const std::string& path, std::vector<TokenPair> pairs);

  std::int64_t tokens() const { return tokens_before_.back(); }
  std::int64_t sequences() const;
  std::int64_t documents() const { return documents_before_.back(); }
  TokenType type() const { return pairs_.front().type(); }
  const std::string& prefix() const { return prefix_; }
  /// Of a single pair; of several a text that tells messages which these are.
  std::string bin_path() const;
  std::string idx_path() const;
  /// One, or the parts.
  const std::vector<TokenPair>& pairs() const { return pairs_; }

  /// First token and number of tokens of a document.
  std::int64_t document_begin(std::int64_t document) const;
  std::int64_t document_tokens(std::int64_t document) const;

  /// Tokens [position, position + out.size()). Usage error for an id outside [0, vocab_size), which names the file, id
  /// and position in it; internal error for a range that is not there.
  void read(std::int64_t position, std::span<std::int32_t> out, std::int64_t vocab_size) const;

  /// Where tokens [begin, end) are stored: so many of a .bin file, from its token `first` on.
  struct Stretch {
    std::string bin_path;
    std::int64_t first = 0, tokens = 0;
  };
  std::vector<Stretch> stretches(std::int64_t begin, std::int64_t end) const;

  /// Tells data sets apart, for resuming a run: that of the pair, of several a hash of theirs.
  std::uint64_t fingerprint() const;

 private:
  std::string prefix_;
  std::vector<TokenPair> pairs_;
  std::vector<std::int64_t> tokens_before_{0}, documents_before_{0};  ///< each pair, and of all
};

/// The files of the token file that is opened by this path: PREFIX.bin and PREFIX.idx.
std::array<std::string, 2> token_file_paths(const std::string& path);

/// The prefixes of the pairs that this path stands for: PREFIX, or PREFIX-00001-of-00004 and so on. Usage error where
/// one of these is missing, where parts of two numbers, or a pair and parts, are beside each other; where the file
/// system does not say what is there, throws as throw_not_given (mapped_file.h).
std::vector<std::string> token_prefixes(const std::string& path);

/// The index of one of the parts of that prefix that are there, whether all are or not; nothing where there is none,
/// and where this user may not list the folder. Throws files::ReadError.
std::optional<std::string> some_part_of(const std::string& prefix);

}  // namespace octet
