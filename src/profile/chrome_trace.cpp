#include "src/profile/chrome_trace.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

/// Microseconds, to the nanosecond.
double microseconds(double seconds) {
  return std::round(seconds * 1e9) / 1e3;
}

Json name_event(const char* what, int rank, int thread, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", rank}, {"tid", thread}, {"args", {{"name", name}}}};
}

Json complete_event(std::string_view name, std::string_view category, double begin, double end, int rank, int thread) {
  return {
      {"ph", "X"},   {"name", name}, {"cat", category}, {"ts", microseconds(begin)}, {"dur", microseconds(end - begin)},
      {"pid", rank}, {"tid", thread}};
}

Json event_of(const Span& s, int rank) {
  Json event = complete_event(s.name, name_of(s.kind), s.begin, s.end, rank, s.stream);
  event["args"] = {{"phase", name_of(s.part)}, {"unit", s.unit}, {"group", s.group}, {"bytes", s.bytes}};
  return event;
}

}  // namespace

std::string chrome_trace(const Recording& recording, int rank, const std::string& node) {
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  text += name_event("process_name", rank, 0, "rank " + std::to_string(rank) + " on " + node).dump();
  for (std::size_t i = 0; i < recording.streams.size(); ++i) {
    text += ",\n" + name_event("thread_name", rank, static_cast<int>(i), recording.streams[i]).dump();
  }
  for (const Recording::Step& step : recording.steps) {
    Json event = complete_event("step " + std::to_string(step.number), "step", step.begin, step.end, rank,
                                Timeline::host_stream);
    event["args"] = {{"step", step.number}};
    text += ",\n" + event.dump();
  }
  for (const Span& span : recording.spans) text += ",\n" + event_of(span, rank).dump();
  return text + "\n]}\n";
}

}  // namespace octet
