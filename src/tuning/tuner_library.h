#pragma once

#include <string>

namespace octet {

/// The library that NCCL loads for a value of NCCL_TUNER_PLUGIN.
struct TunerLibrary {
  std::string path;    ///< empty: none
  std::string sought;  ///< the file names tried, for messages
};

/// The library that a value names, as NCCL reads it: a path; a file name that the loader finds (LD_LIBRARY_PATH, its
/// cache); a suffix, from which NCCL makes libnccl-tuner-SUFFIX.so unless the value contains a folder or is lib*.so;
/// STATIC_PLUGIN, the program itself; an empty value, libnccl-tuner.so; none, no library (NVIDIA/nccl v2.28.9-1,
/// src/plugin/plugin_open.cc and tuner.cc). A library that the loader finds by a name is loaded and stays loaded: the
/// loader then gives NCCL the same one.
TunerLibrary find_tuner_library(const std::string& value);

/// Says whether NCCL takes a value to mean libnccl-tuner-octet.so: a path to it, its file name, or "octet".
bool names_octet_tuner(const std::string& value);

inline constexpr const char* octet_tuner_file = "libnccl-tuner-octet.so";

}  // namespace octet
