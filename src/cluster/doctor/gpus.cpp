#include <fmt/format.h>

#include <algorithm>

#include "src/base/options/text.h"
#include "src/cluster/doctor/doctor_checks.h"
#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

using Rows = std::vector<std::vector<std::string>>;

ProgramResult ask(const Machine& machine, const std::string& name, const std::string& query) {
  return machine.run(name, {"nvidia-smi", query, "--format=csv,noheader,nounits"});
}

/// Runs a query; on failure adds a finding that says so and returns no rows.
Rows rows_of(const Examination& e, const std::string& check, const std::string& name, const std::string& query,
             std::size_t columns, Findings& out) {
  const ProgramResult result = ask(e.machine, name, query);
  Rows rows = csv_rows(result.out, columns);
  if (!result.succeeded() || rows.empty()) {
    out.push_back({check, FindingState::absent,
                   result.succeeded() ? "nvidia-smi knows nothing" : result.failure("nvidia-smi"), "", ""});
    return {};
  }
  return rows;
}

bool is_yes(const std::string& value) {
  return value == "Yes" || value == "Active" || value == "1";
}

/// False where nvidia-smi has nothing to tell: of ECC, that the GPU has none; of the fabric, that it is behind no
/// NVSwitch, or older than Hopper. That a GPU is lost, which nvidia-smi says in brackets too, is something.
bool tells(const std::string& value) {
  return value != "N/A" && value != "[N/A]" && value != "Not Supported" && value != "[Not Supported]";
}

bool is_count(const std::string& value) {
  return !value.empty() && value != "0" && value.find_first_not_of("0123456789") == std::string::npos;
}

/// One finding of a list of what is wrong with single GPUs.
Finding judge(const std::string& check, const std::vector<std::string>& faults, FindingState state,
              const std::string& fine, const std::string& expected, const std::string& advice) {
  if (faults.empty()) return good(check, fine);
  return {check, state, joined(faults, "; "), expected, advice};
}

Finding count(const Examination& e, const Rows& gpus) {
  const std::size_t expected = e.gpus();
  const std::string seen = fmt::format("{} ({})", gpus.size(), gpus[0][1]);
  if (gpus.size() < expected && e.expects_gpus()) {
    return {"gpu.count", FindingState::bad, seen, fmt::format("{}, as {} says", expected, e.profile->name),
            "look for a GPU that fell off the bus (dmesg, Xid 79) and reboot the node; in a job, ask Slurm for all of "
            "them"};
  }
  if (gpus.size() < expected) {
    return {"gpu.count", FindingState::warning, seen, fmt::format("{}, as the driver has them", expected),
            "in a job that asked for fewer this is right; else a GPU does not answer: reboot the node"};
  }
  return good("gpu.count", seen);
}

void check_ecc(const Examination& e, Findings& out) {
  const Rows rows = rows_of(e, "gpu.ecc", "nvidia-smi-ecc",
                            "--query-gpu=index,ecc.mode.current,ecc.errors.uncorrected.volatile.total", 3, out);
  if (rows.empty()) return;
  std::vector<std::string> errors, off;
  for (const auto& row : rows) {
    if (is_count(row[2])) errors.push_back(fmt::format("GPU {}: {} uncorrected", row[0], row[2]));
    if (row[1] != "Enabled" && tells(row[1])) off.push_back(fmt::format("GPU {}: {}", row[0], row[1]));
  }
  const bool none_has_it = std::ranges::none_of(rows, [](const auto& row) { return tells(row[1]); });
  if (none_has_it && errors.empty()) {
    out.push_back({"gpu.ecc", FindingState::absent, "these GPUs have no ECC to turn on", "", ""});
    return;
  }
  if (errors.empty() && !off.empty()) {
    out.push_back({"gpu.ecc", FindingState::warning, "ECC is not on: " + joined(off), "Enabled on all",
                   "nvidia-smi -e 1 and a reset of the GPUs; without it a flipped bit changes the training unseen"});
    return;
  }
  out.push_back(
      judge("gpu.ecc", errors, FindingState::bad, "on, no uncorrected error since the driver was loaded",
            "none since the driver was loaded",
            "leave the node out, reset the GPU (nvidia-smi -r) and run DCGM's diagnostics (dcgmi diag -r 2)"));
}

void check_rows(const Examination& e, Findings& out) {
  const Rows rows = rows_of(e, "gpu.remapped_rows", "nvidia-smi-rows",
                            "--query-remapped-rows=gpu_bus_id,remapped_rows.uncorrectable,remapped_rows.pending,"
                            "remapped_rows.failure",
                            4, out);
  if (rows.empty()) return;
  std::vector<std::string> pending, failed;
  for (const auto& row : rows) {
    if (is_yes(row[2])) pending.push_back(row[0] + ": a row waits for its remapping");
    if (is_yes(row[3])) failed.push_back(row[0] + ": a row could not be remapped");
  }
  if (!failed.empty()) {
    out.push_back({"gpu.remapped_rows", FindingState::bad, joined(failed, "; "), "no failure",
                   "leave the node out and have the GPU replaced"});
    return;
  }
  out.push_back(judge("gpu.remapped_rows", pending, FindingState::bad, "none pending, none failed", "none pending",
                      "reset the GPU (nvidia-smi -r) before it is used again"));
}

void check_gpu_clocks(const Examination& e, Findings& out) {
  const Rows rows =
      rows_of(e, "gpu.clocks", "nvidia-smi-clocks",
              "--query-gpu=index,clocks_throttle_reasons.hw_thermal_slowdown,"
              "clocks_throttle_reasons.hw_power_brake_slowdown,clocks_throttle_reasons.sw_thermal_slowdown",
              4, out);
  if (rows.empty()) return;
  std::vector<std::string> hard, soft;
  for (const auto& row : rows) {
    if (is_yes(row[1])) hard.push_back(fmt::format("GPU {}: thermal slowdown by hardware", row[0]));
    if (is_yes(row[2])) hard.push_back(fmt::format("GPU {}: power brake", row[0]));
    if (is_yes(row[3])) soft.push_back(fmt::format("GPU {}: thermal slowdown by software", row[0]));
  }
  if (!hard.empty()) {
    out.push_back({"gpu.clocks", FindingState::bad, joined(hard, "; "), "no slowdown",
                   "one slow GPU slows all: leave the node out, check its cooling and power supplies"});
    return;
  }
  out.push_back(
      judge("gpu.clocks", soft, FindingState::warning, "not slowed down", "no slowdown", "check the node's cooling"));
}

/// A GPU behind NVSwitches has to be registered with them by the fabric manager, or CUDA does not start: "system not
/// yet initialized". All else that nvidia-smi tells of such a GPU looks healthy.
void check_registration(const Examination& e, Findings& out) {
  const Rows rows =
      rows_of(e, "gpu.fabric", "nvidia-smi-fabric", "--query-gpu=index,fabric.state,fabric.status", 3, out);
  if (rows.empty()) return;
  std::vector<std::string> faults;
  std::size_t known = 0;
  for (const auto& row : rows) {
    const bool is_through = row[1] == "Completed";
    const std::string& told = is_through ? row[2] : row[1];
    if (!tells(told)) continue;
    ++known;
    if (told != (is_through ? "Success" : "Completed")) faults.push_back(fmt::format("GPU {}: {}", row[0], told));
  }
  if (known == 0) {
    out.push_back({"gpu.fabric", FindingState::absent,
                   "nvidia-smi tells of no registration (no NVSwitches, or GPUs before Hopper)", "", ""});
    return;
  }
  out.push_back(judge("gpu.fabric", faults, FindingState::bad, fmt::format("{} registered with the switches", known),
                      "Completed and Success on all",
                      "leave the node out; CUDA does not start before nvidia-fabricmanager, of the driver's own "
                      "version, has registered the GPU: systemctl status nvidia-fabricmanager, restart it, or reboot"));
}

/// 0 of what is no number: some GPUs share the host's memory, and have none to tell.
double gib_of(const std::string& mib) {
  double value = 0;
  return parse(mib, value) ? value / 1024 : 0;
}

/// A run plans its memory by the profile: it would not fit a GPU that has less, or one of which a process of an earlier
/// job still holds a part.
Finding judge_memory(const Examination& e, const Rows& gpus) {
  constexpr double smallest_share = 0.99;  // of the profile's, which may be rounded
  constexpr double most_taken = 2;         // GiB, which a driver with its daemons stays well below
  const double expected = e.expects_gpus() ? e.profile->gpus.memory_gib : 0;
  std::vector<std::string> small, taken;
  for (const auto& row : gpus) {
    const double all = gib_of(row[1]), used = gib_of(row[2]);
    if (all > 0 && all < smallest_share * expected) small.push_back(fmt::format("GPU {}: {:.1f} GiB", row[0], all));
    if (used > most_taken) taken.push_back(fmt::format("GPU {}: {:.1f} of {:.1f} GiB are taken", row[0], used, all));
  }
  if (!small.empty()) {
    return {"gpu.memory", FindingState::bad, joined(small, "; "),
            fmt::format("{} GiB, as {} says", expected, e.profile->name),
            "leave such nodes out (--constraint), or have gpus.memory_gib say what the smallest has: a run's memory is "
            "planned by it"};
  }
  const double first = gib_of(gpus[0][1]);
  return judge("gpu.memory", taken, FindingState::warning,
               first > 0 ? fmt::format("{:.1f} GiB, free", first) : "memory is the host's",
               fmt::format("less than {} GiB before a run begins", most_taken),
               "beside a run of yours this is right; else a process of an earlier job holds it: end that "
               "(nvidia-smi --query-compute-apps=pid,name --format=csv), or leave the node out");
}

void check_memory(const Examination& e, Findings& out) {
  const Rows rows = rows_of(e, "gpu.memory", "nvidia-smi-memory",
                            "--query-gpu=index,memory.total,memory.used,mig.mode.current", 4, out);
  if (rows.empty()) return;
  out.push_back(judge_memory(e, rows));
  std::vector<std::string> parted;
  for (const auto& row : rows) {
    if (row[3] == "Enabled") parted.push_back(fmt::format("GPU {}: MIG is on", row[0]));
  }
  out.push_back(judge("gpu.mig", parted, e.expects_gpus() ? FindingState::bad : FindingState::warning,
                      "no GPU is in parts", "off on all",
                      "nvidia-smi -mig 0, and a reset of the GPU (nvidia-smi -r): a rank needs a whole one"));
}

}  // namespace

Findings node_checks::check_gpus(const Examination& e) {
  const ProgramResult result = ask(e.machine, "nvidia-smi-gpus", "--query-gpu=index,name");
  const Rows gpus = csv_rows(result.out, 2);
  if (!result.succeeded() || gpus.empty()) {
    const std::string seen = result.succeeded() ? "nvidia-smi lists no GPU" : result.failure("nvidia-smi");
    return {
        missing("gpu.count", e.expects_gpus(), seen,
                e.expects_gpus() ? fmt::format("{} GPUs, as {} says", e.profile->gpus.per_node, e.profile->name) : "",
                "is the driver loaded (lsmod, dmesg)? In a container, are the GPUs passed in?")};
  }
  Findings out = {count(e, gpus)};
  check_memory(e, out);
  check_ecc(e, out);
  check_rows(e, out);
  check_gpu_clocks(e, out);
  check_registration(e, out);
  return out;
}

}  // namespace octet
