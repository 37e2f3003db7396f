#pragma once

#include <functional>
#include <optional>
#include <string>

#include "src/base/files.h"
#include "src/owner/record.h"
#include "src/owner/verdict.h"

namespace octet {

// RUN/owner.json. It is only ever replaced whole, by one rename, or changed in place by the owner whose file it is:
// what an owner does to its file after another's has taken the place happens to a file without a name.

std::string owner_path(const std::string& run_dir);

/// The owner that the file names, released or not; nothing where there is no file. Opened anew at every call, so that
/// a network file system says what its server has. Usage error for a file that is no record, internal error for one
/// that cannot be read. Any thread.
std::optional<OwnerRecord> read_owner(const std::string& run_dir);

/// Judges an owner found there; its record stands in `file`.
using Examine = std::function<OwnerStanding(const OwnerRecord& owner, const std::string& file)>;

/// A run directory that was claimed.
struct Claim {
  OwnerRecord mine;                     ///< with its generation
  FileHandle file;                      ///< open for writing: of this record, whatever takes its name
  std::optional<OwnerStanding> before;  ///< whom it was taken over from, or who had released it
};

/// Makes `me` the owner of an existing directory; of several that try at once, on any nodes, one wins. Usage error,
/// with all that is known of the owner, where another one is at work there (nothing was changed then) or the directory
/// cannot be written to; internal error where the disk refuses.
///
/// Generations make this safe over NFS, whose only atomic steps are link and rename. A process that wants to follow the
/// owner of generation g links its record to owner.json.claim-(g+1), which only one can do. That process then checks
/// that the owner is still the one of generation g, since it may be late, and renames its record to owner.json. A claim
/// whose maker is gone is followed as an owner is.
Claim claim_directory(const std::string& run_dir, OwnerRecord me, const Examine& examine);

/// An owner's word on a directory, for every process of its run. A default one is nobody's and agrees to everything.
struct OwnerMark {
  std::string run_dir{};
  std::string name{};

  /// Throws Error (lost_peer) that names the other where owner.json is another's by now: this run was taken for gone,
  /// and must write nothing there any more. A file that somebody has removed is no other's. Any thread.
  void verify() const;
  /// The same as an answer. Never throws: what cannot be read is not taken for this owner's.
  bool holds() const noexcept;
};

}  // namespace octet
