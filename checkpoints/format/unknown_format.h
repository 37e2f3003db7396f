#pragma once

#include <string>

#include "src/base/error.h"

namespace octet::checkpoint {

/// Thrown for a file of a checkpoint for which this program is too old: the file's hash is right, but it has a version
/// of the format, or a key, that this program does not know. That is no damage: nobody may skip it, rename it or
/// silently take an older one. A usage error that names the file and says what to do.
class UnknownFormat : public Error {
 public:
  /// `what`: "of version 3, which this program does not know".
  /// `agreed`: every rank throws it.
  UnknownFormat(const std::string& path, const std::string& what, bool agreed = false)
      : Error(ExitCode::usage,
              fmt::format("[checkpoints] {}: {}; a newer Octet wrote it: use that one, or move this checkpoint "
                          "elsewhere to take the one before it",
                          path, what),
              agreed),
        what_(what) {}
  const std::string& reason() const { return what_; }

 private:
  std::string what_;
};

}  // namespace octet::checkpoint
