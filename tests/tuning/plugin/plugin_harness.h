#pragma once

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "src/tuning/plugin/tuner_abi.h"

namespace octet::test {

// Does to the plugin what NCCL does (NVIDIA/nccl, src/plugin/tuner.cc, src/init.cc, src/enqueue.cc), without a GPU. It
// knows the plugin by its interface alone, so that it can be built with it and nothing else.

/// dlopen as NCCL does it.
class Library {
 public:
  explicit Library(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
  }
  ~Library() { dlclose(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <class T>
  T* symbol(const char* name) const {
    void* const found = dlsym(handle_, name);
    if (found == nullptr) throw std::runtime_error(dlerror());
    return reinterpret_cast<T*>(found);
  }

 private:
  void* handle_;
};

/// The NCCL that the plugin finds around it, and its log.
class StandInNccl {
 public:
  StandInNccl() : library_(OCTET_STAND_IN_NCCL_LIBRARY) {}

  tuner_abi::Logger logger() const {
    return library_.symbol<void(tuner_abi::LogLevel, unsigned long, const char*, int, const char*, ...)>(
        "stand_in_log");
  }
  /// What was logged since the last call.
  std::string lines() const { return library_.symbol<const char*()>("stand_in_lines")(); }
  /// 22809; 0: it does not tell.
  static void set_version(int version) {
    if (version == 0) {
      unsetenv("OCTET_STAND_IN_NCCL");
    } else {
      setenv("OCTET_STAND_IN_NCCL", std::to_string(version).c_str(), 1);
    }
  }

 private:
  Library library_;
};

/// float[7][3] in one piece, of microseconds.
using CostTable = std::array<float, static_cast<std::size_t>(tuner_abi::algorithms* tuner_abi::protocols)>;

/// One communicator's tuner, through the interface of one version.
class Tuner {
 public:
  /// `constants` may be null; v4 has none. Throws where init does not return success.
  Tuner(const Library& plugin, int abi, std::size_t ranks, std::size_t nodes, tuner_abi::Logger logger,
        tuner_abi::Constants* constants) {
    tuner_abi::NvlDomains domains{static_cast<int>(nodes), 8, 8};
    int result = 0;
    if (abi == 4) {
      const auto& table = *plugin.symbol<const tuner_abi::TunerV4>("ncclTunerPlugin_v4");
      get_ = table.get_coll_info, finalize_ = table.destroy;
      result = table.init(ranks, nodes, logger, &context_);
    } else if (abi == 5) {
      const auto& table = *plugin.symbol<const tuner_abi::TunerV5>("ncclTunerPlugin_v5");
      get_ = table.get_coll_info, finalize_ = table.finalize;
      result = table.init(&context_, 0x1234, ranks, nodes, logger, &domains, constants);
    } else {
      const auto& table = *plugin.symbol<const tuner_abi::TunerV6>("ncclTunerPlugin_v6");
      get_ = table.get_coll_info, finalize_ = table.finalize;
      result = table.init(&context_, 0x1234, ranks, nodes, logger, &domains, constants);
      if (table.get_chunk_size != nullptr) throw std::runtime_error("the plugin has chunk sizes");
    }
    if (result != tuner_abi::success) throw std::runtime_error("init fails");
  }
  ~Tuner() { finalize_(context_); }
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  /// What the plugin makes of a cost table. Throws where it fails, or touches the channels.
  CostTable ask(unsigned function, std::size_t bytes, CostTable costs, int pipe_ops = 1) const {
    int channels = 0;
    const int result = get_(context_, function, bytes, pipe_ops, reinterpret_cast<float**>(costs.data()),
                            tuner_abi::algorithms, tuner_abi::protocols, 0, &channels);
    if (result != tuner_abi::success) throw std::runtime_error("getCollInfo fails");
    if (channels != 0) throw std::runtime_error("the plugin sets channels");
    return costs;
  }

  const void* context() const { return context_; }
  tuner_abi::GetCollInfo raw() const { return get_; }

 private:
  void* context_ = nullptr;
  tuner_abi::GetCollInfo get_ = nullptr;
  tuner_abi::Finalize finalize_ = nullptr;
};

/// Index of the entry that NCCL takes: the first of the least that are not negative; -1 for none.
inline int cheapest(const CostTable& costs) {
  int best = -1;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (costs[i] >= 0 && (best < 0 || costs[i] < costs[static_cast<std::size_t>(best)])) best = static_cast<int>(i);
  }
  return best;
}

/// Which interface a release of NCCL 2 asks for first.
inline int abi_of(int minor) {
  return minor <= 27 ? 4 : minor <= 29 ? 5 : 6;
}

}  // namespace octet::test
