#pragma once

namespace octet::checkpoint {

/// From now on HDF5 takes no lock of a file, whatever the environment says: its variable HDF5_USE_FILE_LOCKING counts
/// for more than what a program asks of a file. To be called first in main, before HDF5 reads the variable, and before
/// another thread may; the programs that it starts inherit it.
void turn_file_locks_off();

}  // namespace octet::checkpoint
