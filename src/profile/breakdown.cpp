#include "src/profile/breakdown.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace octet {
namespace {

/// A span begins (+1) or ends (-1).
struct Edge {
  double at;
  SpanKind kind;
  int change;
};

std::vector<Edge> edges_of(const std::vector<Span>& spans, double wall) {
  std::vector<Edge> edges;
  edges.reserve(2 * spans.size());
  for (const Span& s : spans) {
    const double begin = std::clamp(s.begin, 0.0, wall), end = std::clamp(s.end, begin, wall);
    edges.push_back({begin, s.kind, 1});
    edges.push_back({end, s.kind, -1});
  }
  std::ranges::sort(edges, {}, &Edge::at);
  return edges;
}

/// The time between two edges, during which what runs does not change.
void add(Breakdown& b, const std::array<int, span_kinds>& running, double seconds) {
  const auto runs = [&](SpanKind kind) { return running[static_cast<std::size_t>(kind)] > 0; };
  const bool kernels = runs(SpanKind::gemm) || runs(SpanKind::attention) || runs(SpanKind::memory_bound);
  if (kernels && runs(SpanKind::communication)) b.overlapped_communication += seconds;
  double& first = runs(SpanKind::gemm)            ? b.gemm
                  : runs(SpanKind::attention)     ? b.attention
                  : runs(SpanKind::memory_bound)  ? b.memory_bound
                  : runs(SpanKind::communication) ? b.exposed_communication
                  : runs(SpanKind::host)          ? b.host
                                                  : b.idle;
  first += seconds;
}

}  // namespace

Breakdown break_down(const std::vector<Span>& spans, double wall) {
  Breakdown b{.wall = wall};
  std::array<int, span_kinds> running{};
  double now = 0;
  for (const Edge& edge : edges_of(spans, wall)) {
    add(b, running, edge.at - now);
    now = edge.at;
    running[static_cast<std::size_t>(edge.kind)] += edge.change;
  }
  b.idle += wall - now;
  return b;
}

std::vector<SpanTotal> span_totals(const std::vector<Span>& spans) {
  std::map<std::tuple<std::string, SpanKind, StepPart>, SpanTotal> by_name;
  for (const Span& s : spans) {
    SpanTotal& total =
        by_name.try_emplace({s.name, s.kind, s.part}, SpanTotal{.name = s.name, .kind = s.kind, .part = s.part})
            .first->second;
    ++total.calls;
    total.seconds += s.end - s.begin;
    total.bytes += s.bytes;
  }
  std::vector<SpanTotal> totals;
  totals.reserve(by_name.size());
  for (auto& [key, total] : by_name) totals.push_back(std::move(total));
  std::ranges::stable_sort(totals, std::ranges::greater(), &SpanTotal::seconds);
  return totals;
}

}  // namespace octet
