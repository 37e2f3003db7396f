// What octet-commbench writes (jobs/commbench/report.cpp).
#include "src/base/json_reader.h"
#include "src/tuning/fit/benchmark_file.h"
#include "src/tuning/fit/benchmark_run.h"

namespace octet {
namespace {

constexpr std::int64_t most_ranks = 1'000'000;

/// Why a row is not one collective by itself; empty: it is.
std::string_view why_left_out(const JsonReader& row) {
  if (row.integer("groups") != 1) return "several groups were busy at once";
  if (row.integer("calls") != 1) return "several calls at once";
  if (row.integer("ranks") < 2) return "one rank";
  if (row.integer("bytes") == 0) return "no bytes";
  const std::string name = row.text("collective");
  return value_named<Collective>(name) ? "" : "NCCL has no choice of algorithm for it";
}

RunHeader header_of(const JsonReader& provenance, const JsonReader& row) {
  RunHeader header;
  header.program = row.text("collective") + "_perf";
  const JsonReader environment = provenance.at("environment");
  for (const char* name : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_TUNER_PLUGIN", "OCTET_TUNING_FILE"}) {
    if (environment.has(name)) note_environment(fmt::format("{}={}", name, environment.text(name)), header.environment);
  }
  const std::int64_t nodes = row.integer("nodes", 1, most_ranks);
  const std::int64_t ranks_per_node = row.integer("ranks_per_node", 1, most_ranks / nodes);
  for (std::int64_t node = 0; node < nodes; ++node) {
    header.ranks[0][fmt::format("{}", node)] = static_cast<int>(ranks_per_node);
  }
  return header;
}

void add_row(const JsonReader& provenance, const JsonReader& row, const ReadOptions& options, BenchmarkFile& file) {
  const JsonReader wrong = row.at("wrong");  // null: nothing was compared
  if (!wrong.is_null() && wrong.number() > 0) {
    file.notes.push_back(fmt::format("{}: left out: wrong results ({})", row.where(), wrong.number()));
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
  const nlohmann::json document = parse_json(text, "tuning", path, measurements_in_json);
  const JsonReader whole(document, "tuning", path);
  if (whole.integer("octet_commbench") != 1) {
    throw usage_error("tuning", "{}: format {} of octet-commbench; expected 1", path, whole.integer("octet_commbench"));
  }
  const JsonReader provenance = whole.at("provenance");
  if (provenance.text("backend") != "NCCL") {
    throw usage_error("tuning", "{}: measured over {}; expected NCCL, whose tuning this is", path,
                      provenance.text("backend"));
  }
  BenchmarkFile file;
  file.path = path;
  file.format = "octet-commbench JSON";
  if (provenance.has("nccl")) file.nccl = provenance.text("nccl");
  const JsonReader rows = whole.at("rows");
  for (std::size_t i = 0; i < rows.size(); ++i) add_row(provenance, rows.element(i), options, file);
  if (whole.has("pairs")) {
    const JsonReader slow = whole.at("pairs").at("slow");
    for (std::size_t i = 0; i < slow.size(); ++i) file.findings.push_back(slow.element(i).text("text"));
  }
  return file;
}

}  // namespace octet
