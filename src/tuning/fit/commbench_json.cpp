// What octet-commbench writes (jobs/commbench/report.cpp).
#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/tuning/fit/benchmark_file.h"
#include "src/tuning/fit/benchmark_run.h"
#include "src/tuning/fit/json_input.h"

namespace octet {
namespace {

/// Why a row is not one collective by itself; empty: it is.
std::string_view why_left_out(const JsonInput& row) {
  if (row.integer("groups") != 1) return "several groups were busy at once";
  if (row.integer("calls") != 1) return "several calls at once";
  if (row.integer("ranks") < 2) return "one rank";
  if (row.integer("bytes") == 0) return "no bytes";
  const std::string name = row.text("collective");
  for (int c = 0; c <= static_cast<int>(Collective::all_reduce); ++c) {
    if (name == name_of(static_cast<Collective>(c))) return "";
  }
  return "NCCL has no choice of algorithm for it";
}

RunHeader header_of(const JsonInput& provenance, const JsonInput& row) {
  RunHeader header;
  header.program = row.text("collective") + "_perf";
  const JsonInput environment = provenance.object("environment");
  for (const char* name : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_TUNER_PLUGIN", "OCTET_TUNING_FILE"}) {
    if (environment.has(name)) note_environment(fmt::format("{}={}", name, environment.text(name)), header.environment);
  }
  const auto nodes = static_cast<int>(row.integer("nodes"));
  for (int node = 0; node < nodes; ++node) {
    header.ranks[0][fmt::format("{}", node)] = static_cast<int>(row.integer("ranks_per_node"));
  }
  return header;
}

void add_row(const JsonInput& provenance, const JsonInput& row, const ReadOptions& options, BenchmarkFile& file) {
  if (row.number("wrong") > 0) {
    file.notes.push_back(fmt::format("{}: left out: wrong results ({})", row.where(), row.number("wrong")));
    return;
  }
  if (const std::string_view why = why_left_out(row); !why.empty()) {
    file.notes.push_back(
        fmt::format("{}: {} of {} left out: {}", row.where(), row.text("collective"), row.text("group"), why));
    return;
  }
  const RunFacts facts = facts_of(header_of(provenance, row), options, row.where());
  const PrintedRow printed{
      row.integer("bytes"), {row.number("time_us"), 0}, {row.number("algbw_gbs"), 0}, {row.number("busbw_gbs"), 0}};
  check_row(printed, facts, row.where());
  file.rows.push_back({facts.collective, facts.algorithm, facts.protocol, facts.shape, printed.bytes,
                       printed.microseconds.value, row.boolean("in_place"), row.where(), facts.tuner});
}

}  // namespace

BenchmarkFile read_commbench_json(const std::string& path, std::string_view text, const ReadOptions& options) {
  const nlohmann::json document = parse_json_input(path, text);
  const JsonInput whole(document, path);
  if (whole.integer("octet_commbench") != 1) {
    throw usage_error("tuning", "{}: format {} of octet-commbench; expected 1", path, whole.integer("octet_commbench"));
  }
  const JsonInput provenance = whole.object("provenance");
  if (provenance.text("backend") != "NCCL") {
    throw usage_error("tuning", "{}: measured over {}; expected NCCL, whose tuning this is", path,
                      provenance.text("backend"));
  }
  BenchmarkFile file;
  file.path = path;
  file.format = "octet-commbench JSON";
  if (provenance.has("nccl")) file.nccl = provenance.text("nccl");
  const JsonInput rows = whole.list("rows");
  for (std::size_t i = 0; i < rows.size(); ++i) add_row(provenance, rows.at(i), options, file);
  if (whole.has("pairs")) {
    const JsonInput slow = whole.object("pairs").list("slow");
    for (std::size_t i = 0; i < slow.size(); ++i) file.findings.push_back(slow.at(i).text("text"));
  }
  return file;
}

}  // namespace octet
