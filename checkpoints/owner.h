#pragma once

#include <functional>
#include <string>

namespace octet::checkpoint {

/// For whom a run's checkpoints folder is written, so that two who each think it theirs do not undo each other's work.
/// Without a name and a check it is anybody's: of tools and tests.
struct Owner {
  std::string name;              ///< a part of the names of temporary folders: letters, digits and dashes
  std::function<void()> verify;  ///< throws where the folder is another's by now. Any thread

  /// Before every rename and removal.
  void check() const {
    if (verify) verify();
  }
};

}  // namespace octet::checkpoint
