#pragma once

#include <string>

namespace octet::checkpoint {

inline constexpr const char* view_name = "view.h5";

/// Writes DIRECTORY/view.h5 of a committed checkpoint: every tensor as one HDF5 virtual dataset over the shard files,
/// for h5py and HDFView. For looking, never for restoring: HDF5 gives fill values (NaN for f32) where a shard is
/// missing. It is derived from the manifest and no part of the checkpoint: written under another name and renamed,
/// replaced when it is there. HDF5: one thread of a process at a time. Throws a usage error for a bad manifest and an
/// internal error when it cannot be written.
void write_view(const std::string& checkpoint_directory);

/// Says whether the view is there, whole, and of the present manifest. Does not open it with HDF5, which a damaged file
/// can crash.
bool view_is_current(const std::string& checkpoint_directory);

/// Writes the view unless it is current; whether it was written.
bool ensure_view(const std::string& checkpoint_directory);

}  // namespace octet::checkpoint
