#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkpoints/manifest.h"
#include "src/base/error.h"

namespace octet::checkpoint {

/// What is wrong with a file of a checkpoint.
struct Damage {
  std::string file;                 ///< its name in the directory
  std::string what;                 ///< found and expected
  ExitCode code = ExitCode::usage;  ///< internal: the file system refused to read it
};

/// Hashes every file, each byte once, with that many threads, and then lets HDF5 (on the calling thread) look for every
/// piece in those that are whole. `progress` is called on the calling thread with bytes that were read. Empty when the
/// checkpoint is as its manifest says.
std::vector<Damage> find_damage(const std::string& directory, const Manifest& manifest, int threads,
                                const std::function<void(std::int64_t)>& progress = nullptr);

/// The same at a glance: files that are missing or of another size. Reads nothing of them.
std::vector<Damage> find_missing(const std::string& directory, const Manifest& manifest);

}  // namespace octet::checkpoint
