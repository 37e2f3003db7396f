#include "src/cluster/doctor/allocation.h"
#include "src/base/files.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include "jobs/octet/doctor/doctor.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/options/text.h"
#include "src/base/replace_file.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

int exit_code(bool is_healthy) {
  return static_cast<int>(is_healthy ? ExitCode::finished : ExitCode::unhealthy);
}

std::size_t count_reports(const std::string& folder) {
  std::size_t count = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") ++count;
  }
  return count;
}

/// Whether the files of all nodes came in time. The folder may be on another machine, whose news take seconds.
void wait_for_reports(const std::string& folder, std::size_t nodes, int seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (count_reports(folder) < nodes && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

void write_report(const std::string& folder, const NodeReport& report) {
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string path = folder + "/" + report.node + ".json";
  if (!replace_file(path, to_json(report) + "\n")) throw not_written("octet", "--allocation: " + path);
}

int print_table(const std::string& folder, std::size_t expected_nodes, bool json) {
  const auto reports = read_reports(folder);
  const Findings differences = compare_nodes(reports, expected_nodes);
  bool all_healthy = healthy(differences);
  for (const NodeReport& r : reports) all_healthy = all_healthy && healthy(r.findings);
  if (json) {
    for (const NodeReport& r : reports) log::out("{}", to_json(r));
    log::out("{}", to_json({.node = "all", .time = 0, .versions = {}, .findings = differences}));
    return exit_code(all_healthy);
  }
  log::write_out(node_table(reports));
  log::write_out(to_text(differences));
  return exit_code(all_healthy);
}

}  // namespace

int examine_allocation(const std::string& folder, bool json, int wait_seconds, const Examination& e) {
  // srun sets this one, the batch script's shell has it not.
  const std::string step_nodes = e.machine.variable("SLURM_STEP_NUM_NODES");
  if (step_nodes.empty()) return print_table(folder, 0, json);
  std::uint64_t nodes = 0;
  if (!parse(step_nodes, nodes)) throw usage_error("octet", "SLURM_STEP_NUM_NODES={}: expected a number", step_nodes);
  const NodeReport report = examine_node(e);
  write_report(folder, report);
  if (e.machine.variable("SLURM_PROCID") != "0") return exit_code(healthy(report.findings));
  wait_for_reports(folder, nodes, wait_seconds);
  return print_table(folder, nodes, json);
}

}  // namespace octet
