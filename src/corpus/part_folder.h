#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "src/base/files.h"
#include "src/corpus/part_counts.h"

namespace octet {

/// What makes the tokens of a PREFIX what they are: options and input, as text by the option's name.
using Making = std::map<std::string, std::string>;

/// The folder PREFIX.parts, in which parts that are finished wait for the others: 00000.bin, 00000.idx and 00000.json,
/// which is written last and says that the part is whole and what is in it, and with --holdout 00000-holdout.bin and
/// .idx; making.json says what they were made of, and joined.json what is in the whole once it is joined. A run that is
/// interrupted leaves it, and the next one goes on.
class PartFolder {
 public:
  /// Makes the folder, or goes on with the one that is there. Usage error where that was begun with other options
  /// (they are named), unless `overwrite` says to begin anew, and where another process works on it.
  PartFolder(const std::string& prefix, const Making& making, bool overwrite);

  std::string prefix_of(std::size_t part) const;
  std::string holdout_of(std::size_t part) const;
  /// What a part that is finished has.
  std::optional<PartCounts> finished(std::size_t part) const;
  void set_finished(std::size_t part, const PartCounts& counts) const;
  /// What the whole has, where the parts are joined already and only this folder is left.
  std::optional<PartCounts> joined() const;
  void set_joined(const PartCounts& counts) const;
  /// Removes the folder with all that is in it.
  void remove();

  /// Whether a run of the same making has begun: what stands at PREFIX may be its own.
  static bool is_begun(const std::string& prefix, const Making& making);
  static std::string path_of(const std::string& prefix) { return prefix + ".parts"; }

 private:
  std::optional<PartCounts> read(const std::string& path) const;

  std::string path_;
  FileHandle lock_{};
};

}  // namespace octet
