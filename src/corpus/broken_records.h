#pragma once

#include <cstdint>
#include <mutex>
#include <string>

namespace octet {

/// Counts records that have no text, over all parts; shows the first few in the log and refuses more than are allowed.
/// Any thread.
class BrokenRecords {
 public:
  explicit BrokenRecords(std::int64_t allowed) : allowed_(allowed) {}

  /// `what`: "FILE:LINE: is no JSON". Usage error where there are too many.
  void add(const std::string& what);
  /// So many more, which are not shown: of parts that were finished before, or of a piece with very many.
  void add(std::int64_t count);

 private:
  void refuse_too_many(const std::string& last) const;

  const std::int64_t allowed_;
  std::mutex mutex_{};
  std::int64_t count_ = 0;
};

}  // namespace octet
