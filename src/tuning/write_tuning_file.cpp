#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/replace_file.h"
#include "src/tuning/tuning_file.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const MeasurementFile& m) {
  return {{"file", m.file}, {"rows", m.rows}, {"hash", m.hash}};
}

Json json_of(const TunedBaseLatency& row) {
  return {{"algorithm", name_of(row.algorithm)}, {"protocol", name_of(row.protocol)}, {"us", row.us}};
}

Json json_of(const TunedHwLatency& row) {
  return {{"link", name_of(row.link)},
          {"algorithm", name_of(row.algorithm)},
          {"protocol", name_of(row.protocol)},
          {"us", row.us}};
}

Json json_of(const TunedBandwidth& row) {
  return {
      {"limit", name_of(row.limit)}, {"generation", name_of(row.generation)}, {"nodes", row.nodes}, {"gbs", row.gbs}};
}

Json json_of(const TunedFit& fit) {
  return {{"collective", name_of(fit.collective)},
          {"algorithm", name_of(fit.algorithm)},
          {"protocol", name_of(fit.protocol)},
          {"nodes", fit.shape.nodes},
          {"ranks_per_node", fit.shape.ranks_per_node},
          {"alpha_us", fit.alpha_us},
          {"beta_gbs", fit.beta_gbs},
          {"rows", fit.rows},
          {"residual", fit.residual},
          {"confidence", fit.confidence},
          {"alpha_error_us", fit.alpha_error_us},
          {"beta_error_gbs", fit.beta_error_gbs},
          {"bytes", {fit.bytes_from, fit.bytes_to}}};
}

Json json_of(const TunedChoice& choice) {
  return {{"collective", name_of(choice.collective)},
          {"nodes", {choice.nodes_from, choice.nodes_to}},
          {"ranks_per_node", choice.ranks_per_node},
          {"bytes", {choice.bytes_from, choice.bytes_to}},
          {"algorithm", name_of(choice.algorithm)},
          {"protocol", name_of(choice.protocol)},
          {"reason", choice.reason}};
}

Json json_of(const std::string& text) {
  return text;
}

/// On one line, with a blank behind every comma and colon.
std::string line_of(const Json& value) {
  if (!value.is_structured()) return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string line;
  for (const auto& [key, element] : value.items()) {
    if (!line.empty()) line += ", ";
    if (value.is_object()) line += fmt::format("\"{}\": ", key);  // keys are ours
    line += line_of(element);
  }
  return value.is_object() ? fmt::format("{{{}}}", line) : fmt::format("[{}]", line);
}

template <class Row>
std::string lines_of(const std::vector<Row>& rows, const std::string& indent) {
  if (rows.empty()) return "[]";
  std::string lines;
  for (const Row& row : rows) {
    lines += fmt::format("{}\n{}  {}", lines.empty() ? "" : ",", indent, line_of(json_of(row)));
  }
  return fmt::format("[{}\n{}]", lines, indent);
}

}  // namespace

std::string to_json(const TuningFile& tuning) {
  std::string text = "{\n  \"octet_tuning\": 1,\n";
  const auto line = [&](const std::string& indent, const char* key, const std::string& value, const char* end = ",\n") {
    text += fmt::format("{}\"{}\": {}{}", indent, key, value, end);
  };
  line("  ", "cluster", line_of(tuning.cluster));
  line("  ", "fabric", line_of(tuning.fabric));
  line("  ", "nccl", line_of(tuning.nccl));
  text += "  \"provenance\": {\n";
  line("    ", "created", line_of(tuning.provenance.created));
  line("    ", "tool", line_of(tuning.provenance.tool));
  line("    ", "measurements", lines_of(tuning.provenance.measurements, "    "));
  line("    ", "notes", lines_of(tuning.provenance.notes, "    "), "\n  },\n");
  text += "  \"constants\": {\n";
  line("    ", "base_latency", lines_of(tuning.constants.base_latency, "    "));
  line("    ", "hw_latency", lines_of(tuning.constants.hw_latency, "    "));
  line("    ", "bandwidth", lines_of(tuning.constants.bandwidth, "    "), "\n  },\n");
  line("  ", "fits", lines_of(tuning.fits, "  "));
  line("  ", "choices", lines_of(tuning.choices, "  "), "\n}\n");
  return text;
}

void write_tuning_file(const std::string& file, const TuningFile& tuning) {
  if (replace_file(file, to_json(tuning))) return;
  throw not_written("tuning", file);
}

}  // namespace octet
