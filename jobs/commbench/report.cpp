#include "jobs/commbench/report.h"

#include <cerrno>
#include <cstring>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/base/replace_file.h"

namespace octet::commbench {
namespace {

constexpr std::string_view sum_suffix = "_sum", max_suffix = "_max";

nlohmann::ordered_json json_of(const Row& row) {
  const Measured& m = row.measured;
  const std::string& operation = row.calls.front().operation;
  nlohmann::ordered_json out = {{"part", row.part},
                                {"collective", row.collective()},
                                {"group", row.group},
                                {"groups", row.groups},
                                {"ranks", row.ranks},
                                {"nodes", row.nodes},
                                {"ranks_per_node", row.ranks / row.nodes},
                                {"calls", row.calls.size()},
                                {"bytes", row.bytes()},
                                {"count", row.count()},
                                {"type", type_name(row.calls.front().dtype)},
                                {"redop", row.reduction()},
                                {"root", row.root()},
                                {"in_place", is_in_place(operation, row.form)},
                                {"copies", needs_copy(operation, row.form, row.device)},
                                {"iterations", m.ours.us.size()},
                                {"time_us", m.ours.median()},
                                {"p95_us", m.ours.p95()},
                                {"average_us", m.ours.average_us},
                                {"min_us", m.ours.us.front()},
                                {"algbw_gbs", row.algorithm_bandwidth(m.ours.median())},
                                {"busbw_gbs", row.bus_bandwidth(m.ours.median())},
                                {"wrong", m.checked ? nlohmann::ordered_json(m.wrong) : nullptr}};
  if (row.times > 0) {
    out["unit"] = row.calls.front().unit;
    out["times_per_step"] = row.times;
  }
  if (!m.plain.us.empty()) {
    out["plain_mpi_us"] = m.plain.median();
    out["plain_mpi_p95_us"] = m.plain.p95();
  }
  return out;
}

Error not_writable(const std::string& path) {
  return not_written("commbench", "--json " + path);
}

}  // namespace

std::string Row::collective() const {
  const std::string& name = calls.front().operation;
  return name.starts_with("all_reduce") ? "all_reduce" : name;
}

std::string Row::reduction() const {
  const std::string& name = calls.front().operation;
  return name == "reduce_scatter" || name.ends_with(sum_suffix) ? "sum" : name.ends_with(max_suffix) ? "max" : "none";
}

int Row::root() const {
  return collective() == "broadcast" ? 0 : -1;
}

std::int64_t Row::bytes() const {
  std::int64_t sum = 0;
  for (const CommRecord& call : calls) sum += call.operation == "recv" ? 0 : call.bytes;
  return sum;
}

std::int64_t Row::count() const {
  std::int64_t sum = 0;
  for (const CommRecord& call : calls) sum += call.operation == "recv" ? 0 : call.count;
  return sum;
}

double Row::algorithm_bandwidth(double us) const {
  return static_cast<double>(bytes()) / us / 1e3;
}

double Row::bus_bandwidth(double us) const {
  double sum = 0;
  for (const CommRecord& call : calls) sum += bus_bytes(call.operation, ranks, call.bytes);
  return sum / us / 1e3;
}

Report::Report(Provenance p)
    : json_{{"octet_commbench", 1},
            {"provenance",
             {{"created", p.created},
              {"version", p.version},
              {"backend", p.backend},
              {"library", p.library},
              {"nccl", p.nccl.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(p.nccl)},
              {"hosts", p.hosts},
              {"ranks", p.ranks},
              {"ranks_share_cores", p.cores > 0},
              {"command", p.command},
              {"environment", p.environment}}},
            {"rows", nlohmann::ordered_json::array()}},
      devices_(std::move(p.devices)) {
  comment(fmt::format("octet-commbench {}, {} ({}), {} ranks on {} node(s)", p.version, p.backend, p.library, p.ranks,
                      p.hosts.size()));
  if (!p.nccl.empty()) comment("NCCL version " + p.nccl);
  for (const auto& [name, value] : p.environment.items()) {
    if (name.starts_with("NCCL_") || name.starts_with("OCTET_")) {
      comment(fmt::format("environment: {}={}", name, value.get<std::string>()));
    }
  }
  if (p.cores > 0) {
    comment(fmt::format("{} ranks share {} core(s): times hold waiting for one", p.ranks_on_cores, p.cores));
  }
}

void Report::comment(const std::string& text) const {
  log::out("# {}", text);
}

void Report::heading(const std::string& text, bool of_run, bool compared) const {
  log::out("#\n# {}", text);
  comment(
      "time and p95: median and 95th percentile over the iterations, each that of its slowest rank; bandwidths from "
      "the median");
  const char* const more = of_run ? "   calls  /step  ms/step  unit" : compared ? "   MPI time  ours/MPI" : "";
  const char* const units = compared ? "       (us)" : "";
  log::out("# {:>12} {:>13} {:>9} {:>6} {:>4} {:>10} {:>10} {:>8} {:>8} {:>6}{}", "size", "count", "type", "redop",
           "root", "time", "p95", "algbw", "busbw", "#wrong", more);
  log::out("# {:>12} {:>13} {:>9} {:>6} {:>4} {:>10} {:>10} {:>8} {:>8} {:>6}{}", "(B)", "(elements)", "", "", "",
           "(us)", "(us)", "(GB/s)", "(GB/s)", "", units);
}

void Report::add(const Row& row) {
  const Measured& m = row.measured;
  const double us = m.ours.median();
  std::string more;
  if (row.times > 0) {
    more = fmt::format("   {:5}  {:5}  {:7.2f}  {}", row.calls.size(), row.times,
                       static_cast<double>(row.times) * us / 1e3, row.calls.front().unit);
  } else if (!m.plain.us.empty()) {
    more = fmt::format("   {:8.2f}  {:8.2f}", m.plain.median(), us / m.plain.median());
  }
  log::out("  {:12} {:13} {:>9} {:>6} {:4} {:10.2f} {:10.2f} {:8.3f} {:8.3f} {:>6}{}", row.bytes(), row.count(),
           type_name(row.calls.front().dtype), row.reduction(), row.root(), us, m.ours.p95(),
           row.algorithm_bandwidth(us), row.bus_bandwidth(us), m.checked ? std::to_string(m.wrong) : "N/A", more);
  add_to_file(row);
  own_.add(row, us);
}

void Report::add_to_file(const Row& row) {
  json_["rows"].push_back(json_of(row));
  wrong_ += row.measured.wrong;
}

void Report::Sums::add(const Row& row, double us) {
  wrong += row.measured.wrong;
  bus_bandwidths += row.bus_bandwidth(us);
  ++rows;
}

void Report::finish() const {
  if (tables_ && own_.rows == 0 && !json_.contains("pairs")) return;
  comment("");
  Sums all = own_;
  all.wrong = wrong_;
  comment_sums(all);
}

void Report::write(const std::string& path) const {
  // Of the environment, and of the command, not all need be UTF-8.
  const std::string text = json_.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  if (!replace_file(path, text)) throw not_writable(path);
}

void Report::check_writable(const std::string& path) {
  if (!can_replace_file(path)) throw not_writable(path);
}

std::string type_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "float";
    case DType::bf16:
      return "bfloat16";
    case DType::e4m3:
      return "f8e4m3";
    case DType::e5m2:
      return "f8e5m2";
    case DType::i32:
      return "int32";
    case DType::u8:
      return "uint8";
  }
  return "?";
}

}  // namespace octet::commbench
