#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

// TensorBoard's records, byte for byte. A record is framed as in TensorFlow's TFRecord files (length, its masked
// CRC-32C, data, its masked CRC-32C; little-endian) and holds one protocol buffer `Event`. Of that only the few fields
// below are needed, so they are written by hand and there is no dependency on protobuf
// (tensorflow/core/util/event.proto and tensorflow/core/framework/summary.proto have the numbers).

/// `data` in its frame.
std::string framed(std::string_view data);

struct Scalar {
  std::string_view tag;
  double value = 0;  ///< stored as fp32
};

/// `wall_time` is in seconds since 1970 throughout. The first record of every file: the format's version.
std::string version_record(double wall_time);

/// Says that a process goes on from here: TensorBoard forgets what earlier files of the folder hold from `step` on.
std::string start_record(double wall_time, std::int64_t step);

/// All scalars of a step.
std::string scalars_record(double wall_time, std::int64_t step, const std::vector<Scalar>& scalars);

}  // namespace octet
