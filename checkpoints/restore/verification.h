#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkpoints/format/manifest.h"
#include "src/base/error.h"
#include "src/base/read_file.h"

namespace octet::checkpoint {

/// What is wrong with a file of a checkpoint.
struct Damage {
  std::string file;                 ///< its name in the directory
  std::string what;                 ///< found and expected
  ExitCode code = ExitCode::usage;  ///< internal: the file system refused to read it
};

using TensorChoice = std::function<bool(const StoredTensor& tensor)>;

/// Hashes every file with that many threads. In a file that has its hash, HDF5 (one thread at a time) then reads what
/// the file says of itself, the run's state and each piece, which must agree with the manifest. The data of each piece
/// are read once more, and must have the hash that the piece carries, which was taken before HDF5 got the data.
/// `progress` is called on the calling thread with bytes that were read, of bytes_to_verify() in all; what it throws
/// comes out, and no file is read to its end then. Empty when the checkpoint is as its manifest says. Of tensors that
/// are not `used` (null: all are) only the bytes in the files are compared, not the pieces once more: for who reads
/// some of them. While this runs nothing else in the process may call HDF5.
std::vector<Damage> find_damage(const std::string& directory, const Manifest& manifest, int threads,
                                const std::function<void(std::int64_t)>& progress = nullptr,
                                const TensorChoice& used = nullptr);

/// What find_damage reads where nothing is damaged.
std::int64_t bytes_to_verify(const Manifest& manifest, const TensorChoice& used = nullptr);

/// The same at a glance: files that are missing or of another size. Reads nothing of them.
std::vector<Damage> find_missing(const std::string& directory, const std::vector<StoredFile>& files);

/// The checkpoints of which a run has read every byte, each as whole or damaged; this holds as long as none of its
/// files has changed since. So no file is read twice to learn the same. Known to the machine that looked: rank 0.
class Verdicts {
 public:
  /// Files of a checkpoint by name, the manifest too; nothing where one cannot be looked at.
  using Files = std::map<std::string, std::optional<files::FileIdentity>>;

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
