#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/corpus/making.h"
#include "src/corpus/part_counts.h"
#include "src/corpus/part_files.h"
#include "src/corpus/part_plan.h"

namespace octet {

/// The folder PREFIX.parts, in which parts that are finished wait for the others: 00000.bin, 00000.idx and 00000.json,
/// which is written last and says that the part is whole and what is in it, and with --holdout 00000-holdout.bin and
/// .idx; making.json says what they were made of, and joined.json what is in the whole once it is joined. A run that is
/// interrupted leaves it, and the next one goes on. What else lies in it is not touched.
class PartFolder {
 public:
  /// Makes the folder, or goes on with the one that is there (making.h: can_go_on), whose making.json becomes this
  /// making. Where only the input has changed and the whole is not joined yet, it keeps those finished parts of `plan`
  /// whose input is the same as it would be now, if there is one; the others are removed. What was already joined must
  /// still be in PREFIX.bin.tmp, and in that of `holdout`, the prefix of the held-out documents. Usage error where the
  /// folder was begun with other options (what differs is named), unless `overwrite` says to begin anew, also where
  /// only the input differs; where another process works on it; and where something of that name is not known to be
  /// from `octet prepare` (part_files.h).
  PartFolder(const std::string& prefix, const Making& making, bool overwrite, const std::vector<InputPart>& plan = {},
             const std::string& holdout = "");
  /// The folder that an earlier run has left, whatever it made; nothing where there is none. Usage errors as above.
  static std::optional<PartFolder> left(const std::string& prefix);

  bool has_parts() const;

  std::string prefix_of(std::size_t part) const;
  std::string holdout_of(std::size_t part) const;
  /// What a part that is finished has.
  std::optional<PartCounts> finished(std::size_t part) const;
  void set_finished(std::size_t part, const PartCounts& counts) const;
  /// What the whole has, where the parts are joined already and only this folder is left.
  std::optional<PartCounts> joined() const;
  void set_joined(const PartCounts& counts) const;
  /// Makes the folder stand for the run before this one, whose parts are still there, or takes it away where there was
  /// none: of a run that is refused before it has made a part.
  void take_back();
  /// Removes what `octet prepare` wrote there, and the folder where nothing else is in it.
  void remove();

  /// Whether a run has begun that goes on as this making: what stands at PREFIX may be its own.
  static bool is_begun(const std::string& prefix, const Making& making);
  static std::string path_of(const std::string& prefix) { return prefix + ".parts"; }

 private:
  PartFolder(std::string path, PartFiles files);
  std::optional<PartCounts> read(const std::string& path) const;
  bool keep_unchanged(const std::string& prefix, const std::string& holdout) const;
  std::vector<std::size_t> unchanged_parts() const;
  void write_making(const Making& making) const;
  bool is_unchanged(std::size_t part) const;
  bool is_taken(std::size_t part) const;

  std::string path_;
  PartFiles files_;
  std::optional<Making> before_{};     ///< of the run whose parts this one goes on with
  std::vector<std::string> inputs_{};  ///< what each part is made of (part_plan.h: text_of_input)
};

}  // namespace octet
