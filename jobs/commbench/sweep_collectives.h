#pragma once

#include <string>
#include <vector>

namespace octet::commbench {

/// The collectives of the sweep.
inline const std::vector<std::string> collective_names = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                                          "all_to_all"};

/// Whether that one adds numbers up, which is done in float alone, as in training.
inline bool is_reduction(const std::string& collective) {
  return collective == "all_reduce" || collective == "reduce_scatter";
}

}  // namespace octet::commbench
