#pragma once

#include <functional>
#include <string>

namespace octet::checkpoint {

/// The one for whom a run's checkpoints folder is written, so that two who each think it theirs do not undo each
/// other's work. Without a name and a check the folder is anybody's: tools and tests have it so.
struct Owner {
  std::string name;              ///< a part of the names of temporary folders: letters, digits and dashes
  std::function<void()> verify;  ///< throws where the folder is another's by now. Any thread

  /// Is called before every rename and removal.
  void check() const {
    if (verify) verify();
  }
};

}  // namespace octet::checkpoint
