#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkpoints/manifest.h"
#include "checkpoints/read_file.h"

namespace octet::checkpoint {

/// What a run knows of checkpoints whose every byte it has read: whole or damaged, for as long as no file of them is
/// another than it was then. So no file is read twice to be told the same. Of the machine that looked: rank 0.
class Verdicts {
 public:
  /// Files of a checkpoint by name, the manifest too; nothing where one cannot be looked at.
  using Files = std::map<std::string, std::optional<FileIdentity>>;

  /// To be called before the files are read: one that changes while it is read then counts as another file.
  static Files look_at(const std::string& directory, const std::vector<StoredFile>& files);

  void keep(const std::string& directory, Files files, bool whole) { known_[directory] = {std::move(files), whole}; }
  /// What others have learned; where both know something, they are right.
  void add(const Verdicts& newer) {
    for (const auto& [directory, verdict] : newer.known_) known_.insert_or_assign(directory, verdict);
  }
  void forget(const std::string& directory) { known_.erase(directory); }
  /// Looks at the files again, and reads none.
  std::optional<bool> find(const std::string& directory) const;

 private:
  struct Verdict {
    Files files;
    bool whole;
  };
  std::map<std::string, Verdict> known_;
};

}  // namespace octet::checkpoint
