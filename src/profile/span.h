#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/profile/scopes.h"

namespace octet {

enum class SpanKind : std::uint8_t { gemm, attention, memory_bound, communication, host };
constexpr int span_kinds = 5;

constexpr auto names_of(SpanKind) {
  return std::to_array<std::string_view>({"gemm", "attention", "memory_bound", "communication", "host"});
}

/// What is known of a span when it begins.
struct SpanInfo {
  std::string_view name;  ///< of the kernel, the operation of the communicator, or what the host does
  SpanKind kind = SpanKind::host;
  std::int64_t bytes = 0;       ///< a kernel's bytes_moved (kernels/stats.h), a collective's CommRecord::bytes; else 0
  double bus_bytes = 0;         ///< of collectives: see bus_bytes() in src/comm/trace.h
  std::string_view group = {};  ///< of collectives
};

/// A piece of time on one stream, or on the host.
struct Span {
  std::string name{};
  SpanKind kind = SpanKind::host;
  StepPart part = StepPart::other;
  std::string unit{};   ///< of the innermost UnitScope, empty outside of any
  std::string group{};  ///< of collectives
  std::int64_t bytes = 0;
  double bus_bytes = 0;
  int stream = 0;             ///< Timeline::host_stream, or the number of a stream
  double begin = 0, end = 0;  ///< seconds since recording began
};

}  // namespace octet
