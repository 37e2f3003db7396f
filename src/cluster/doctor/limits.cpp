#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <sstream>

#include "src/base/round_up.h"
#include "src/cluster/doctor/doctor_checks.h"
#include "src/cluster/doctor/free_space.h"
#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

/// Empty where the text is no number.
std::optional<std::int64_t> number_of(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

struct Limit {
  std::string soft, hard;
};

/// Of a line like "Max locked memory  8388608  8388608  bytes"; empty where there is no such line.
Limit limits_of(const Machine& machine, const std::string& key) {
  Limit limit;
  for (const std::string& line : lines_of(machine.read("/proc/self/limits").value_or(""))) {
    if (line.starts_with(key)) std::istringstream(line.substr(key.size())) >> limit.soft >> limit.hard;
  }
  return limit;
}
std::string limit_of(const Machine& machine, const std::string& key) {
  return limits_of(machine, key).soft;
}

Finding check_locked_memory(const Examination& e) {
  const char* check = "limits.locked_memory";
  const bool cards = !e.machine.list("/sys/class/infiniband").empty();
  if (!cards && !e.expects_cards()) return missing(check, false, "no card registers memory here", "", "");
  const std::string limit = limit_of(e.machine, "Max locked memory");
  if (limit.empty()) return missing(check, false, "/proc/self/limits does not say", "", "");
  if (limit == "unlimited") return good(check, limit);
  return {check, e.expects_cards() ? FindingState::bad : FindingState::warning, limit + " bytes", "unlimited",
          "cards register memory, which locks it: memlock unlimited in /etc/security/limits.d, LimitMEMLOCK=infinity "
          "for slurmd, and PropagateResourceLimitsExcept=MEMLOCK in slurm.conf"};
}

/// With no limit glibc gives new threads 2 MiB in place of the usual 8, and NCCL's have crashed (release notes 2.27.6).
Finding check_stack(const Examination& e) {
  const char* check = "limits.stack";
  const std::string limit = limit_of(e.machine, "Max stack size");
  if (limit.empty()) return missing(check, false, "/proc/self/limits does not say", "", "");
  if (limit != "unlimited") return good(check, limit + " bytes");
  return {
      check, FindingState::warning, limit, "8388608 bytes",
      "ulimit -s 8192, on all nodes: without a limit NCCL's threads get stacks of 2 MiB (NCCL 2.27.6, release notes)"};
}

/// Ranks of the job that this process is in, as Slurm says; 0: unknown.
std::int64_t ranks_of_job(const Machine& machine) {
  const auto tasks = machine.environment().find("SLURM_NTASKS");
  return tasks == machine.environment().end() ? 0 : number_of(tasks->second).value_or(0);
}

/// The programs raise the soft limit to the hard one (src/comm/nccl_process.h). In an all-to-all NCCL has a socket to
/// and one from each rank of another node; beside them are files, libraries and MPI's sockets.
Finding check_open_files(const Examination& e) {
  constexpr std::int64_t of_the_process = 1024, for_a_rank = 2, largest_job = 512;
  const char* check = "limits.open_files";
  const std::string limit = limits_of(e.machine, "Max open files").hard;
  if (limit.empty()) return missing(check, false, "/proc/self/limits does not say", "", "");
  const std::int64_t known = ranks_of_job(e.machine), ranks = known > 0 ? known : largest_job;
  const std::int64_t needed = of_the_process + for_a_rank * ranks;
  const auto most = number_of(limit);
  if (!most || *most >= needed) return good(check, limit + " at most");
  return {check, FindingState::warning, limit + " at most", fmt::format("{}, for a job of {} ranks", needed, ranks),
          "NCCL has sockets to all ranks in an all-to-all: raise the hard limit, nofile 1048576 in "
          "/etc/security/limits.d and LimitNOFILE=1048576 for slurmd"};
}

/// What NCCL takes of /dev/shm for a rank of a communicator, once that has a connection over the network and until it
/// ends: proxyProgressInit in src/proxy.cc of NCCL 2.28.9 makes a ncclProxyOpsPool there by ncclShmOpen, which has the
/// system keep room for all of it: a ncclProxyOp of 232 bytes for each of MAX_OPS_PER_PEER = 2048 and
/// NCCL_MAX_LOCAL_RANKS = 72. That is so since 2.25; before, it is less than half of that.
constexpr std::int64_t nccl_pool = std::int64_t{232} * 2048 * 72;
/// Communicators of a rank that have such connections, as many as configs/runs/llama-405b-pp.yaml has: world, dp_shard,
/// losses, stage_replica, gathers, reductions and a pipeline's two links.
constexpr std::int64_t communicators = 8;
/// MPI's, and what others have on the node.
constexpr std::int64_t beside_nccl = std::int64_t{512} << 20;

Finding check_shared_memory(const Examination& e) {
  constexpr std::int64_t mebibyte = std::int64_t{1} << 20, gibibyte = mebibyte << 10;
  const auto ranks = static_cast<std::int64_t>(e.gpus());
  const std::int64_t least = round_up(ranks * communicators * nccl_pool + beside_nccl, gibibyte);
  const FreeSpace space = free_space(e.machine, "df-shm", "/dev/shm");
  if (!space.known) return missing("limits.shared_memory", false, space.reason, "", "");
  const std::string seen = fmt::format("{:.1f} GiB free", space.bytes / static_cast<double>(gibibyte));
  if (space.bytes >= static_cast<double>(least)) return good("limits.shared_memory", seen);
  const std::string who =
      ranks == 0 ? "ranks of a node share memory there"
                 : fmt::format("in runs of several nodes NCCL takes {} MiB there for each rank of each communicator",
                               ceil_div(nccl_pool, mebibyte));
  return {"limits.shared_memory", FindingState::warning, seen,
          fmt::format("{} GiB in /dev/shm{}", least / gibibyte, ranks == 0 ? "" : fmt::format(", for {} ranks", ranks)),
          who + ": start the container with --shm-size=8g or --ipc=host, or remove what ended programs left in it"};
}

}  // namespace

Findings node_checks::check_limits(const Examination& e) {
  return {check_locked_memory(e), check_stack(e), check_open_files(e), check_shared_memory(e)};
}

}  // namespace octet
