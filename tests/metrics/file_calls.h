#pragma once

#include <string>
#include <vector>

namespace octet::test {

/// The calls that the program makes to write at an offset, to cut and to sync files: cut_off_test.cpp puts its own in
/// place of the system's, which they call.
struct FileCalls {
  std::vector<std::string> made{};  ///< "pwrite", "ftruncate" or "fsync" and a path, since this was made
  int dies_at = 0;                  ///< SIGKILL in place of the call with that number, from 1 on; 0: of none
  bool torn = false;                ///< half of that call, where it is a write, is done before
  bool cuts_nothing = false;        ///< files cannot be cut
};
FileCalls& file_calls();

}  // namespace octet::test
