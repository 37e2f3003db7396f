#include "checkpoints/format/file_locks.h"

#include <cstdlib>

namespace octet::checkpoint {

void turn_file_locks_off() {
  setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
}

}  // namespace octet::checkpoint
