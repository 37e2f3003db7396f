#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/metrics/appended_file.h"
#include "src/metrics/step_metrics.h"

namespace octet {

/// CRC-32C (Castagnoli polynomial, reflected), as in iSCSI (RFC 3720, B.4) and TensorFlow's record files.
std::uint32_t crc32c(std::string_view bytes);

// TensorBoard's records, byte for byte. A record is framed as in TensorFlow's TFRecord files (length, its masked
// CRC-32C, data, its masked CRC-32C; little-endian) and holds one protocol buffer `Event`. Of that only the few fields
// below are needed, so they are written by hand and there is no dependency on protobuf
// (tensorflow/core/util/event.proto and tensorflow/core/framework/summary.proto have the numbers).

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

/// Event files for TensorBoard: `events.out.tfevents.TIME.HOST.PROCESS` in a folder. A process never adds to the file
/// of another, whose last record may be cut off: it begins a file of its own, which TensorBoard reads after the older
/// ones of the folder. Written after every step (AppendedFile).
class EventWriter {
 public:
  /// Makes the folder if it is missing. `first_step` is the first that will be written; what older files have from
  /// there on no longer counts. Usage error when the file cannot be made.
  explicit EventWriter(const std::string& folder, std::int64_t first_step = 1);

  /// The scalars that metric_fields() names, as far as they were measured. Throws internal_error when the disk refuses;
  /// the record is kept and written with the next one.
  void write(const StepMetrics& metrics);

  const std::string& path() const { return file_.path(); }

 private:
  AppendedFile file_;
};

}  // namespace octet
