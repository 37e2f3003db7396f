#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/profile/span.h"

namespace octet {

/// The seconds of a rank's time by what they went to. Every moment of the wall time counts once, for the first of these
/// that holds:
///   gemm, attention, memory_bound   a kernel of that kind runs, on whatever stream
///   exposed_communication           a collective runs, and no kernel does
///   host                            the host is in a span of its own, and no stream has work
///   idle                            nothing of the above
/// so these six add up to `wall`. overlapped_communication is time in which a collective and a kernel run at once; it
/// is in the kernels' time already. A collective that waits for another rank runs.
struct Breakdown {
  double wall = 0;
  double gemm = 0, attention = 0, memory_bound = 0;
  double exposed_communication = 0, overlapped_communication = 0;
  double host = 0, idle = 0;
};

struct BreakdownField {
  std::string_view name;
  double Breakdown::*seconds;
};
/// All but wall, in the order of the struct; overlapped_communication is the only one that is not a part of it.
constexpr std::array<BreakdownField, 7> breakdown_fields = {
    {{"gemm", &Breakdown::gemm},
     {"attention", &Breakdown::attention},
     {"memory_bound", &Breakdown::memory_bound},
     {"exposed_communication", &Breakdown::exposed_communication},
     {"overlapped_communication", &Breakdown::overlapped_communication},
     {"host", &Breakdown::host},
     {"idle", &Breakdown::idle}}};

/// The breakdown of the time from 0 to `wall`; what of a span lies outside does not count.
Breakdown break_down(const std::vector<Span>& spans, double wall);

/// Spans of one name, kind and part of the step.
struct SpanTotal {
  std::string name;
  SpanKind kind = SpanKind::host;
  StepPart part = StepPart::other;
  std::int64_t calls = 0;
  double seconds = 0;  ///< the sum of their lengths, also where they overlap
  std::int64_t bytes = 0;
};
/// Longest first.
std::vector<SpanTotal> span_totals(const std::vector<Span>& spans);

}  // namespace octet
