#pragma once

#include <string>
#include <vector>

#include "src/base/environment.h"

namespace octet {

/// The folders in which octet-train looks for a library of CUDA that the dynamic loader does not find, in the order of
/// the search; only those that exist. They are below $CUDA_HOME, $CUDA_PATH and /usr/local/cuda, and then those of
/// Python's nvidia packages in each folder of $PYTHONPATH, in $VIRTUAL_ENV and in the installation of the python3 on
/// the $PATH. `root`: a folder with the files of another machine, without a slash at its end; the paths returned are as
/// that machine has them. Any thread.
std::vector<std::string> cuda_library_folders(const VariableReader& variable, const std::string& root = "");

}  // namespace octet
