#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/files.h"
#include "src/data/token_pair.h"

namespace octet {

/// Joins several pairs, in their order, into one pair PREFIX.bin / PREFIX.idx. Each part's .bin file is removed as soon
/// as it is taken over, so that the disk needs room for one part more and not for everything twice; where the file
/// system shares blocks, copy_file_range copies nothing. Like TokenFileWriter it writes PREFIX.bin.tmp first, and
/// replaces what PREFIX was. After an interruption, at any point, a new object goes on; the parts' .idx files stay
/// until the caller removes them. One part is mapped at a time, since a kernel gives a process some 65,000 mappings.
/// One thread at a time.
class TokenJoin {
 public:
  /// Usage error where the file cannot be written or another process writes it.
  explicit TokenJoin(std::string prefix);
  /// Leaves PREFIX.bin.tmp, where something was taken, for one that goes on.
  ~TokenJoin();
  TokenJoin(const TokenJoin&) = delete;
  TokenJoin& operator=(const TokenJoin&) = delete;

  /// The next part, by its prefix. Usage error for one of another token type, and for one that is gone or damaged.
  void take(const std::string& part);
  /// Writes the index and gives the files their names. At least one part was taken.
  void finish();

  /// Whether something is left to be joined; false where an interrupted one had come to its end. To be asked before
  /// one of parts that are all finished is made.
  static bool is_left(const std::vector<std::string>& parts, const std::string& prefix);
  /// Whether PREFIX.bin.tmp is long enough for those of the parts that were taken over, whose .bin files are gone.
  static bool has_taken(const std::vector<std::string>& parts, const std::string& prefix);

 private:
  class PartIndex;
  struct Taken {
    std::string prefix;
    PairFacts facts;  ///< but for the fingerprint
  };
  std::string bin_path() const { return prefix_ + ".bin.tmp"; }
  std::string idx_path() const { return prefix_ + ".idx.tmp"; }
  void take_over(const PartIndex& part) const;
  void write_index() const;

  std::string prefix_;
  FileHandle bin_, idx_;
  std::vector<Taken> parts_;
  std::int64_t bytes_ = 0;  ///< of what was taken
};

}  // namespace octet
