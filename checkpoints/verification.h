#pragma once

#include <cstdint>
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

/// Hashes every file with that many threads. Of one that has its hash, HDF5 (one thread at a time) then tells what it
/// says of itself, the run's state and each piece, which the manifest has to say too; and the data of each piece, read
/// once more, have to have the hash that the piece carries, taken before HDF5 had them. `progress` is called on the
/// calling thread with bytes that were read, of bytes_to_verify() in all. Empty when the checkpoint is as its manifest
/// says. While this runs nothing else in the process may call HDF5.
std::vector<Damage> find_damage(const std::string& directory, const Manifest& manifest, int threads,
                                const std::function<void(std::int64_t)>& progress = nullptr);

/// What find_damage reads where nothing is damaged.
std::int64_t bytes_to_verify(const Manifest& manifest);

/// The same at a glance: files that are missing or of another size. Reads nothing of them.
std::vector<Damage> find_missing(const std::string& directory, const Manifest& manifest);

}  // namespace octet::checkpoint
