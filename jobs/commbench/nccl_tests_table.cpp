// What nccl-tests print (NVIDIA/nccl-tests v2.19.6, src/util.cu: writeDeviceReport, writeResultHeader,
// writeBenchmarkLinePreamble, writeBenchmarkLineBody, writeResultFooter), to the column.
#include <unistd.h>

#include "jobs/commbench/report.h"
#include "src/base/log.h"

namespace octet::commbench {
namespace {

/// all_reduce_perf, alltoall_perf, ...: the program of nccl-tests that measures it.
std::string program_of(const std::string& collective) {
  return (collective == "all_to_all" ? "alltoall" : collective) + "_perf";
}

/// As many digits behind the point as fit, two at most; their getFloatStr.
std::string fitted(double value, std::size_t width) {
  for (int digits = 2; digits >= 0; --digits) {
    std::string text = fmt::format("{:.{}f}", value, digits);
    if (text.size() <= width) return text;
  }
  return fmt::format("{:.{}e}", value, width >= 7 ? 1 : 0);
}

std::string half(const Row& row) {
  const double us = row.measured.ours.average_us;
  const std::string wrong =
      row.measured.checked ? fmt::format("{:6g}", static_cast<double>(row.measured.wrong)) : "   N/A";
  return fmt::format("  {:>7}  {:>6}  {:>6}  {}", fitted(us, 7), fitted(row.algorithm_bandwidth(us), 6),
                     fitted(row.bus_bandwidth(us), 6), wrong);
}

}  // namespace

std::string device_line(int rank, const std::string& node, int index, Device& device) {
  const std::string bus = device.pci_bus_id();  // "0000:1b:00.0"
  return fmt::format("#  Rank {:2} Group {:2} Pid {:6} on {:>10} device {:2} [{}] {}", rank, 0, ::getpid(), node, index,
                     bus.empty() ? "0000:00:00" : bus.substr(0, bus.find('.')), device.name());
}

void Report::begin_table(const std::string& collective, const SweepHeader& header) {
  tables_ = true;
  table_ = {};
  program_ = program_of(collective);
  log::out("# Collective test starting: {}", program_);
  log::out(
      "# nThread 1 nGpus 1 minBytes {} maxBytes {} step: {}(factor) warmup iters: {} iters: {} agg iters: 1 "
      "validation: {} graph: 0 unalign: 0",
      header.min, header.max, header.factor, header.measure.warmup, header.measure.iterations, header.measure.check);
  log::out("#\n# Using devices");
  for (const std::string& line : devices_) log::out("{}", line);
  log::out("#");
  const auto names = [](const char* size, const char* count, const char* type, const char* redop, const char* root) {
    return fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", size, count, type, redop, root);
  };
  const auto of_half = [](const char* time, const char* algbw, const char* busbw, const char* wrong) {
    return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", time, algbw, busbw, wrong);
  };
  const std::string columns = of_half("time", "algbw", "busbw", "#wrong");
  const std::string units = of_half("(us)", "(GB/s)", "(GB/s)", "");
  log::out("{}           out-of-place                       in-place          ", names("", "", "", "", ""));
  log::out("{}{}{} ", names("size", "count", "type", "redop", "root"), columns, columns);
  log::out("{}{}{} ", names("(B)", "(elements)", "", "", ""), units, units);
}

void Report::add(const Row& out_of_place, const Row& in_place) {
  log::out("{:12}  {:12}  {:>8}  {:>6}  {:6}{}{}", out_of_place.bytes(), out_of_place.count(),
           type_name(out_of_place.calls.front().dtype), out_of_place.reduction(), out_of_place.root(),
           half(out_of_place), half(in_place));
  for (const Row* row : {&out_of_place, &in_place}) {
    add_to_file(*row);
    table_.add(*row, row->measured.ours.average_us);
  }
}

void Report::end_table() {
  comment_sums(table_);
  log::out("#\n# Collective test concluded: {}\n#", program_);
}

void Report::comment_sums(const Sums& sums) const {
  log::out("# {:<20} : {} {}", "Out of bounds values", sums.wrong, sums.wrong == 0 ? "OK" : "FAILED");
  if (sums.rows > 0) {
    log::out("# {:<20} : {:g} ", "Avg bus bandwidth", sums.bus_bandwidths / static_cast<double>(sums.rows));
  }
}

}  // namespace octet::commbench
