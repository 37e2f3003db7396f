#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "src/tuning/plugin/tuner_abi.h"
#include "src/tuning/tuning_file.h"

namespace octet {

/// The choices of a tuning file for one communicator. Immutable: any thread may ask at any time.
class CommunicatorTuner {
 public:
  CommunicatorTuner(const TuningFile& tuning, CommShape shape);

  /// Makes the chosen entry the cheapest of `costs` (float[algorithms][protocols]), unless NCCL has excluded it or the
  /// file has nothing for these bytes.
  void pin(tuner_abi::Function function, std::size_t bytes, float* costs, int algorithms, int protocols) const noexcept;

  std::size_t size() const noexcept;

 private:
  struct Choice {
    std::size_t from, to;  ///< bytes; to = SIZE_MAX: no upper limit
    int algorithm, protocol;
  };
  std::array<std::vector<Choice>, 5> choices_;  ///< by Collective, sorted and apart
};

/// Puts the file's constants in the place of NCCL's; how many.
int apply_constants(const TunedConstants& fitted, tuner_abi::Constants& constants);

}  // namespace octet
