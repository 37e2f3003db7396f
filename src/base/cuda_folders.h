#pragma once

#include <string>
#include <vector>

#include "src/base/environment.h"

namespace octet {

/// The folders in which octet-train looks for a library of CUDA where the dynamic loader finds none, in order; those
/// that exist: in $CUDA_HOME, $CUDA_PATH and /usr/local/cuda, and of Python's nvidia packages those of each folder of
/// $PYTHONPATH, of $VIRTUAL_ENV and of the python3 on the $PATH. `root`: a folder with the files of another machine,
/// without a slash at its end; the folders are told as that machine has them. Any thread.
std::vector<std::string> cuda_library_folders(const VariableReader& variable, const std::string& root = "");

}  // namespace octet
