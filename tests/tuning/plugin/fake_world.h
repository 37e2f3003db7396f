#pragma once

#include <fmt/format.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "src/tuning/cost_model/model.h"
#include "tests/support/temp_folder.h"
#include "tests/tuning/plugin/plugin_harness.h"

namespace octet::test {

// What stands around the plugin: a folder for files, NCCL's cost tables from the model of it.

/// A folder of the test's own for files that the plugin reads.
class Folder : public TempFolder {
 public:
  /// A new file of that text: the plugin reads a path once.
  std::string file(const std::string& text) {
    const std::string name = *this / fmt::format("{}.json", files_++);
    std::ofstream(name, std::ios::binary) << text;
    return name;
  }

 private:
  int files_ = 0;
};

inline std::string content(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline std::string shipped(const std::string& name) {
  return std::string(OCTET_SOURCE_DIR) + "/configs/tuning/" + name;
}

inline CostTable as_costs(const AlgorithmTable& table) {
  CostTable costs{};
  auto to = costs.begin();
  for (const auto& row : table) {
    for (const double us : row) *to++ = static_cast<float>(us);
  }
  return costs;
}

inline tuner_abi::Constants as_abi(const ModelConstants& model) {
  static_assert(sizeof(ModelConstants) == sizeof(tuner_abi::Constants), "both are NCCL's, in its order");
  return std::bit_cast<tuner_abi::Constants>(model);
}

inline ModelConstants as_model(const tuner_abi::Constants& constants) {
  return std::bit_cast<ModelConstants>(constants);
}

/// A communicator as NCCL of this version makes it with the plugin: its tuner may change the constants, then the model
/// is asked with them, then the tuner about every collective.
class Communicator {
 public:
  Communicator(const Library& plugin, const StandInNccl& nccl, const NcclVersion& version, NcclMachine machine,
               CommShape shape)
      : version_(version),
        machine_(machine),
        shape_(shape),
        constants_(as_abi(default_constants(version))),
        tuner_(plugin, abi_of(version.minor), static_cast<std::size_t>(shape.ranks()),
               static_cast<std::size_t>(shape.nodes), nccl.logger(), &constants_) {}

  CostTable predicted(Collective collective, std::int64_t bytes) const {
    return as_costs(predicted_us(version_, machine_, as_model(constants_), collective, shape_, bytes));
  }
  CostTable tuned(Collective collective, std::int64_t bytes) const {
    return tuner_.ask(static_cast<unsigned>(collective), static_cast<std::size_t>(bytes), predicted(collective, bytes));
  }
  const Tuner& tuner() const { return tuner_; }
  const tuner_abi::Constants& constants() const { return constants_; }

 private:
  NcclVersion version_;
  NcclMachine machine_;
  CommShape shape_;
  tuner_abi::Constants constants_;
  Tuner tuner_;
};

/// "tree/ll128".
inline std::string decision(const CostTable& costs) {
  const int best = cheapest(costs);
  return fmt::format("{}/{}", name_of(static_cast<Algorithm>(best / protocol_count)),
                     name_of(static_cast<Protocol>(best % protocol_count)));
}

/// OCTET_TUNING_FILE for as long as it lives; empty: not set.
class TuningFileSet {
 public:
  explicit TuningFileSet(const std::string& file) {
    if (!file.empty()) setenv("OCTET_TUNING_FILE", file.c_str(), 1);
  }
  ~TuningFileSet() { unsetenv("OCTET_TUNING_FILE"); }
  TuningFileSet(const TuningFileSet&) = delete;
  TuningFileSet& operator=(const TuningFileSet&) = delete;
};

}  // namespace octet::test
