#include "src/metrics/event_record.h"

#include <bit>

#include "src/metrics/crc32c.h"

namespace octet {
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

}  // namespace

std::string framed(std::string_view data) {
  const std::string length = little_endian(data.size(), 8);
  return length + masked_crc(length) + std::string(data) + masked_crc(data);
}

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

}  // namespace octet
