#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "checkpoints/format/shard_file.h"

namespace octet::checkpoint {

/// Shard files of verified checkpoints that are read again and again: a model is loaded unit by unit, and of a large
/// run each unit is in all files. The first files stay open, as long as this process has no more than `most` so open;
/// of the others the one that was asked for last. None is closed to make room, since files are read in the same order
/// each time, and it would be the one that is wanted next. One thread of the process at a time (HDF5).
class OpenShards {
 public:
  /// The most files that stay open by default, where the process may open enough.
  static constexpr std::size_t enough = 512;

  /// The default leaves half of the files that this process may open to others; each takes 0.85 MiB at most.
  explicit OpenShards(std::size_t most = most_by_default()) : most_(most) {}

  /// The file of that name, opened where it is not open. Valid until the next call of either. Throws as ShardReader
  /// does.
  const ShardReader& open(const std::string& path);
  /// Who could not read one may try again with other handles. A server that was away makes all stale at once.
  void close_all();

 private:
  static std::size_t most_by_default();

  /// Counts itself among those of the process.
  struct Kept {
    explicit Kept(const std::string& path);
    ~Kept();
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;
    ShardReader reader;
  };

  std::size_t most_;
  std::map<std::string, Kept> kept_;
  std::optional<ShardReader> passing_;
  std::string passing_path_;
};

}  // namespace octet::checkpoint
