#include "src/train/run/profile_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

struct Carried {
  double bytes = 0, bus_bytes = 0;
};

Carried carried(const Recording& recording) {
  Carried sum;
  for (const Span& s : recording.spans) {
    if (s.kind != SpanKind::communication) continue;
    sum.bytes += static_cast<double>(s.bytes);
    sum.bus_bytes += s.bus_bytes;
  }
  return sum;
}

Json json_of(int rank, const RankTime& time) {
  Json seconds;
  for (const BreakdownField& field : breakdown_fields) seconds[field.name] = time.seconds.*field.seconds;
  return {{"rank", rank}, {"node", time.node}, {"wall", time.seconds.wall}, {"seconds", seconds}};
}

/// "exposed_communication" as words.
std::string words(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::string row(std::string_view name, double Breakdown::*field, const std::vector<RankTime>& ranks, double steps) {
  double sum = 0, wall = 0;
  for (const RankTime& r : ranks) {
    sum += r.seconds.*field;
    wall += r.seconds.wall;
  }
  const auto [least, most] = std::ranges::minmax(ranks, {}, [&](const RankTime& r) { return r.seconds.*field; });
  const double to_milliseconds = 1e3 / steps;
  return fmt::format("\n{:<26}{:>12.3f}{:>9.1f} %{:>12.3f} .. {:.3f}", words(name),
                     sum / static_cast<double>(ranks.size()) * to_milliseconds, 100 * sum / wall,
                     least.seconds.*field * to_milliseconds, most.seconds.*field * to_milliseconds);
}

}  // namespace

std::string profile_json(const Recording& mine, const std::vector<RankTime>& ranks) {
  Json list = Json::array(), kernels = Json::array();
  for (std::size_t r = 0; r < ranks.size(); ++r) list.push_back(json_of(static_cast<int>(r), ranks[r]));
  for (const SpanTotal& t : span_totals(mine.spans)) {
    kernels.push_back({{"name", t.name},
                       {"kind", name_of(t.kind)},
                       {"phase", name_of(t.part)},
                       {"calls", t.calls},
                       {"seconds", t.seconds},
                       {"bytes", t.bytes}});
  }
  const Carried sum = carried(mine);
  const Json whole = {{"steps", {mine.steps.front().number, mine.steps.back().number}},
                      {"ranks", list},
                      {"communication", {{"bytes", sum.bytes}, {"bus_bytes", sum.bus_bytes}}},
                      {"kernels", kernels}};
  return whole.dump(1) + '\n';
}

std::string profile_table(const Recording& mine, const std::vector<RankTime>& ranks) {
  const auto steps = static_cast<double>(mine.steps.size());
  std::string text = fmt::format("profile of steps {} to {}, {} rank(s); overlapped is in the kernels' time already\n",
                                 mine.steps.front().number, mine.steps.back().number, ranks.size());
  text += fmt::format("{:<26}{:>12}{:>11}{:>12}", "", "ms a step", "share", "over ranks");
  for (const BreakdownField& field : breakdown_fields) text += row(field.name, field.seconds, ranks, steps);
  text += row("wall", &Breakdown::wall, ranks, steps);
  double hidden = 0, all = 0;
  for (const RankTime& r : ranks) {
    hidden += r.seconds.overlapped_communication;
    all += r.seconds.overlapped_communication + r.seconds.exposed_communication;
  }
  if (all > 0) text += fmt::format("\n{:.1f} % of the time of communication is behind kernels", 100 * hidden / all);
  const Carried sum = carried(mine);
  return text + fmt::format("\ncollectives of rank 0 a step: {:.3f} MiB in their buffers, {:.3f} MiB over the bus",
                            sum.bytes / steps / 0x1p20, sum.bus_bytes / steps / 0x1p20);
}

}  // namespace octet
