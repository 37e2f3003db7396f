#include "src/report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/base/error.h"
#include "src/report/difference.h"
#include "src/report/series.h"
#include "src/report/summary.h"

namespace octet {
namespace {

using nlohmann::ordered_json;

/// Points of a line of a plot; longer ones are thinned.
constexpr std::size_t points_of_a_line = 2000;

/// Six digits are more than a picture shows; null where there is no number.
ordered_json drawn(double value) {
  return std::isfinite(value) ? ordered_json(std::stod(fmt::format("{:.6g}", value))) : nullptr;
}

ordered_json drawn(const std::vector<double>& values) {
  ordered_json out = ordered_json::array();
  for (const double value : values) out.push_back(drawn(value));
  return out;
}

ordered_json table(const std::vector<TableRow>& rows) {
  ordered_json out = ordered_json::array();
  for (const TableRow& row : rows) out.push_back({{"label", row.label}, {"values", row.values}});
  return out;
}

ordered_json profile_data(const Profile& profile) {
  ordered_json out{{"steps", {profile.first_step, profile.last_step}}, {"kinds", Profile::kinds}};
  out["ranks"] = ordered_json::array();
  for (const auto& r : profile.ranks) {
    out["ranks"].push_back({{"rank", r.rank}, {"node", r.node}, {"wall", r.wall}, {"seconds", r.seconds}});
  }
  out["kernels"] = ordered_json::array();
  for (const auto& k : profile.kernels) {
    out["kernels"].push_back({{"name", k.name},
                              {"kind", k.kind},
                              {"phase", k.phase},
                              {"calls", k.calls},
                              {"seconds", k.seconds},
                              {"bytes", k.bytes}});
  }
  return out;
}

/// A mark of the restarts at a step: there may be several.
ordered_json run_data(const RunFiles& run) {
  std::vector<std::int64_t> restarts = restart_steps(run);
  restarts.erase(std::unique(restarts.begin(), restarts.end()), restarts.end());
  ordered_json out{{"name", run.name}, {"running", run.status.state == "running"}, {"restarts", restarts}};
  if (run.profile) out["profile"] = profile_data(*run.profile);
  return out;
}

/// One line of a plot: a quantity of a run.
ordered_json line_of(std::size_t run, const Quantity& quantity, const Series& series) {
  return {{"run", run},
          {"name", quantity.name},
          {"dashed", quantity.dashed},
          {"steps", series.steps},
          {"values", drawn(series.values)}};
}

/// The lines of a plot, the dashed ones last: they are drawn over the others. `longest` grows to the points of the
/// longest one, before it was thinned.
ordered_json lines_of(const Plot& plot, const std::vector<RunFiles>& runs, std::size_t& longest) {
  ordered_json lines = ordered_json::array();
  bool all_zero = true;
  for (const Quantity& quantity : quantities()) {
    if (quantity.plot != plot.id) continue;
    for (std::size_t run = 0; run < runs.size(); ++run) {
      const Series series = series_of(runs[run].metrics, quantity);
      if (series.steps.empty()) continue;
      longest = std::max(longest, series.steps.size());
      all_zero = all_zero && std::ranges::count(series.values, 0.0) == std::ssize(series.values);
      lines.push_back(line_of(run, quantity, thinned(series, points_of_a_line)));
    }
  }
  return plot.only_above_zero && all_zero ? ordered_json::array() : lines;
}

/// Each run's loss against the first one's; nothing for a single run, and for runs that have no steps in common.
ordered_json difference_plot(const std::vector<RunFiles>& runs) {
  ordered_json lines = ordered_json::array();
  std::size_t window = 0;
  for (std::size_t run = 1; run < runs.size(); ++run) {
    const LossDifference d = loss_difference(runs[run].metrics, runs[0].metrics, points_of_a_line);
    if (d.steps.empty()) continue;
    window = std::max(window, d.window);
    lines.push_back({{"run", run},
                     {"name", ""},
                     {"dashed", false},
                     {"steps", d.steps},
                     {"values", drawn(d.means)},
                     {"errors", drawn(d.errors)}});
  }
  if (lines.empty()) return nullptr;
  return {{"id", "loss_difference"},
          {"title", "Loss minus that of " + runs[0].name},
          {"unit", fmt::format("nats a token, mean of {} logged steps; the band is two standard errors of it", window)},
          {"can_be_logarithmic", false},
          {"lines", std::move(lines)}};
}

std::string replaced(std::string_view text, const std::vector<std::pair<std::string_view, std::string>>& places) {
  std::string out;
  for (std::size_t open; (open = text.find("{{")) != std::string_view::npos;) {
    const std::size_t close = text.find("}}", open);
    const std::string_view name = text.substr(open, close == std::string_view::npos ? close : close + 2 - open);
    const auto place = std::ranges::find(places, name, [](const auto& p) { return p.first; });
    if (place == places.end()) throw internal_error("report", "the page has no text for {}", name.substr(0, 40));
    out.append(text.substr(0, open)).append(place->second);
    text.remove_prefix(close + 2);
  }
  return out.append(text);
}

}  // namespace

std::string report_data(const std::vector<RunFiles>& runs) {
  ordered_json out{{"runs", ordered_json::array()}, {"plots", ordered_json::array()}};
  for (const RunFiles& run : runs) out["runs"].push_back(run_data(run));
  out["summary"] = table(summary_table(runs));
  out["differences"] = table(differing_options(runs));
  std::size_t longest = 0;
  for (const Plot& plot : plots()) {
    ordered_json lines = lines_of(plot, runs, longest);
    if (lines.empty()) continue;
    out["plots"].push_back({{"id", plot.id},
                            {"title", plot.title},
                            {"unit", plot.unit},
                            {"can_be_logarithmic", plot.can_be_logarithmic},
                            {"lines", std::move(lines)}});
    if (plot.id != "loss") continue;
    if (ordered_json difference = difference_plot(runs); !difference.is_null()) {
      out["plots"].push_back(std::move(difference));
    }
  }
  out["points_of_a_line"] = points_of_a_line;
  out["longest"] = longest;
  // A message in status.json can hold any bytes.
  const std::string text = out.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  std::string safe;
  for (const char c : text) c == '<' ? safe.append("\\u003c") : safe.append(1, c);
  return safe;
}

std::string make_page(const PageParts& parts, const std::string& data) {
  if (parts.plot_library.empty()) throw usage_error("report", "{}", no_plot_library);
  return replaced(
      parts.html,
      {{"{{style}}", fmt::format("{}\n{}", parts.plot_style, parts.style)},
       {"{{library}}", fmt::format("/*\n{}*/\n{}\n{}", parts.plot_licence, parts.plot_library, parts.plot_extras)},
       {"{{data}}", data},
       {"{{script}}", std::string(parts.script)}});
}

}  // namespace octet
