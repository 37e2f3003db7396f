#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace octet {

inline const std::string gpu_id = "0000:1B:00.0";
/// Lines of tests/device/stand_in_nvml.cpp.
inline const std::vector<std::string> healthy_gpu = {"pci " + gpu_id,   "sm_mhz 1980",       "memory_mhz 2619",
                                                     "reasons 4",       "celsius 61",        "milliwatts 640500",
                                                     "ecc_corrected 7", "ecc_uncorrected 0", "rows 1 2 0 0"};

/// The file of values that the stand-in for NVML reads, as long as this object lives.
class NvmlValues {
 public:
  NvmlValues() : file_(std::filesystem::temp_directory_path() / ("octet-nvml-" + std::to_string(getpid()))) {
    setenv("OCTET_NVML_VALUES", file_.c_str(), 1);
  }
  ~NvmlValues() {
    unsetenv("OCTET_NVML_VALUES");
    std::filesystem::remove(file_);
  }
  NvmlValues(const NvmlValues&) = delete;
  NvmlValues& operator=(const NvmlValues&) = delete;

  /// `changed` come first, and the first line of a key counts. Another thread may read: it sees all old or all new.
  void set(const std::vector<std::string>& lines, const std::vector<std::string>& changed = {}) const {
    const std::filesystem::path next = file_.string() + ".next";
    std::ofstream out(next);
    for (const auto* list : {&changed, &lines}) {
      for (const std::string& line : *list) out << line << '\n';
    }
    out.close();
    std::filesystem::rename(next, file_);
  }

 private:
  std::filesystem::path file_;
};

/// The stand-in itself, loaded as long as this object lives.
class StandInNvml {
 public:
  explicit StandInNvml(const char* file) : library_(dlopen(file, RTLD_NOW)) {
    if (library_ == nullptr) throw std::runtime_error(dlerror());
  }
  ~StandInNvml() { dlclose(library_); }
  StandInNvml(const StandInNvml&) = delete;
  StandInNvml& operator=(const StandInNvml&) = delete;

  /// Sessions and sets of events.
  int open() const { return call("stand_in_open"); }
  int readings() const { return call("stand_in_readings"); }

 private:
  int call(const char* name) const { return reinterpret_cast<int (*)()>(dlsym(library_, name))(); }

  void* library_;
};

}  // namespace octet
