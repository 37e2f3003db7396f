#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/tuning/collective.h"

namespace octet {

/// One line of a benchmark's table: how long a collective took. nccl-tests and octet-commbench both write them.
struct Measurement {
  Collective collective = Collective::all_reduce;
  std::optional<Algorithm> algorithm;  ///< as forced with NCCL_ALGO; none: the library chose
  std::optional<Protocol> protocol;
  CommShape shape;
  std::int64_t bytes = 0;  ///< as in bus_factor()
  double microseconds = 0;
  bool in_place = false;
  std::string source;      ///< file and line, for messages and provenance
  std::string tuner = {};  ///< what loaded a tuner into NCCL, "NCCL_TUNER_PLUGIN=octet"; empty: none
};

}  // namespace octet
