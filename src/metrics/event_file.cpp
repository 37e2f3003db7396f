#include "src/metrics/event_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "src/base/error.h"
#include "src/base/hosts.h"

namespace octet {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    table[byte] = crc;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> table = make_table();

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char c : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

namespace {

std::string little_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  return out;
}

std::string masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return little_endian(std::uint32_t{((crc >> 15) | (crc << 17)) + 0xa282ead8u}, 4);
}

// Fields of a protocol buffer: a key (number and wire type), then the value.
enum Wire : std::uint32_t { varint_wire = 0, fixed64_wire = 1, bytes_wire = 2, fixed32_wire = 5 };

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>((value & 0x7f) | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}
std::string key(std::uint32_t number, Wire wire) {
  return varint(number << 3 | wire);
}
std::string double_field(std::uint32_t number, double value) {
  return key(number, fixed64_wire) + little_endian(std::bit_cast<std::uint64_t>(value), 8);
}
std::string float_field(std::uint32_t number, float value) {
  return key(number, fixed32_wire) + little_endian(std::bit_cast<std::uint32_t>(value), 4);
}
std::string integer_field(std::uint32_t number, std::int64_t value) {
  return key(number, varint_wire) + varint(static_cast<std::uint64_t>(value));
}
std::string bytes_field(std::uint32_t number, std::string_view value) {
  return key(number, bytes_wire) + varint(value.size()) + std::string(value);
}

// Numbers of the fields.
namespace event {
constexpr std::uint32_t wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7;
}
namespace session_log {
constexpr std::uint32_t status = 1;
constexpr std::int64_t start = 1;  // of the enumeration SessionStatus
}  // namespace session_log
namespace summary {
constexpr std::uint32_t value = 1, tag = 1, simple_value = 2;
}

std::string event_head(double wall_time, std::int64_t step) {
  return double_field(event::wall_time, wall_time) + integer_field(event::step, step);
}

/// `data` in its frame.
std::string framed(std::string_view data) {
  const std::string length = little_endian(data.size(), 8);
  return length + masked_crc(length) + std::string(data) + masked_crc(data);
}

}  // namespace

std::string version_record(double wall_time) {
  return framed(double_field(event::wall_time, wall_time) + bytes_field(event::file_version, "brain.Event:2"));
}

std::string start_record(double wall_time, std::int64_t step) {
  const std::string log = integer_field(session_log::status, session_log::start);
  return framed(event_head(wall_time, step) + bytes_field(event::session_log, log));
}

std::string scalars_record(double wall_time, std::int64_t step, const std::vector<Scalar>& scalars) {
  std::string values;
  for (const Scalar& s : scalars) {
    values += bytes_field(summary::value, bytes_field(summary::tag, s.tag) +
                                              float_field(summary::simple_value, static_cast<float>(s.value)));
  }
  return framed(event_head(wall_time, step) + bytes_field(event::summary, values));
}

namespace {

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Makes the folder; a name of its own in it. TensorBoard reads files in the order of their names: by time, then by the
/// last number, which counts writers of one process and second.
std::string make_path(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    errno = error.value();
    throw not_written("metrics", folder);
  }
  const std::string host = host_name();
  for (int n = 0;; ++n) {
    std::string path =
        fmt::format("{}/events.out.tfevents.{:010.0f}.{}.{}.{}", folder, std::floor(wall_time()), host, getpid(), n);
    if (!std::filesystem::exists(path, error)) return path;
  }
}

/// What every step has comes first, then what some have, then lists: the order that records have had from the start.
std::vector<Scalar> scalars_of(const StepMetrics& m) {
  std::vector<MetricField> fields(metric_fields().begin(), metric_fields().end());
  std::erase_if(fields, [](const MetricField& field) { return field.scalar.empty(); });
  std::ranges::stable_sort(fields, {}, [](const MetricField& field) { return field.member.index(); });
  std::vector<Scalar> scalars;
  for (const MetricField& field : fields) {
    if (const auto value = scalar_of(m, field)) scalars.push_back({field.scalar, *value});
  }
  return scalars;
}

}  // namespace

EventWriter::EventWriter(const std::string& folder, std::int64_t first_step) : file_(make_path(folder)) {
  file_.add(version_record(wall_time()) + start_record(wall_time(), first_step));
}

void EventWriter::write(const StepMetrics& m) {
  file_.add(scalars_record(wall_time(), m.step, scalars_of(m)));
}

}  // namespace octet
