#pragma once

#include <functional>
#include <string>

namespace octet::checkpoint {

/// Who a run's checkpoints folder is written for, so that two starts that each think it theirs do not undo each other's
/// work. Without a name and a check the folder is anybody's, as tools and tests use it.
struct Owner {
  std::string name;              ///< a part of the names of temporary folders: letters, digits and dashes
  std::function<void()> verify;  ///< throws where the folder is another's by now. Any thread

  /// To be called before every rename and removal.
  void check() const {
    if (verify) verify();
  }
};

}  // namespace octet::checkpoint
