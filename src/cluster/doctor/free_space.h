#pragma once

#include <string>

#include "src/cluster/machine/machine.h"

namespace octet {

struct FreeSpace {
  bool known = false;
  bool asked = true;       ///< false: there is no df
  std::string reason;      ///< where it is not known
  double bytes = 0;        ///< for a user without privileges
  std::string mounted_on;  ///< root of the file system
};

/// Room on the file system that holds `path`. Asks df, which can be given up where a file server does not answer;
/// `name` is its file in a snapshot.
FreeSpace free_space(const Machine& machine, const std::string& name, const std::string& path);

}  // namespace octet
