#pragma once

#include <string>

#include "src/cluster/machine/machine.h"

namespace octet {

/// NCCL as a program of this machine would load it.
struct NcclLibrary {
  std::string path;     ///< empty: not found
  std::string version;  ///< "2.28.9"; empty: the file does not say
};

/// Looks for libnccl.so.2 where octet-train does: in LD_LIBRARY_PATH, in what ldconfig knows, and then in the folders
/// of src/base/cuda_folders.h. Its version is the text in the file: nothing is loaded.
NcclLibrary find_nccl(const Machine& machine);

}  // namespace octet
