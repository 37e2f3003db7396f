#include "src/cluster/slurm_options.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "src/base/error.h"
#include "src/base/options/text.h"
#include "src/cluster/machine/text_lines.h"
#include "src/cluster/shell_text.h"

namespace octet {
namespace {

/// The letters of options that are named here. A letter that both sbatch and srun have means the same to both.
constexpr std::array<std::pair<char, std::string_view>, 36> letters{{
    {'A', "--account"},
    {'a', "--array"},
    {'B', "--extra-node-info"},
    {'b', "--begin"},
    {'C', "--constraint"},
    {'c', "--cpus-per-task"},
    {'D', "--chdir"},
    {'d', "--dependency"},
    {'e', "--error"},
    {'F', "--nodefile"},
    {'G', "--gpus"},
    {'H', "--hold"},
    {'h', "--help"},
    {'I', "--immediate"},
    {'i', "--input"},
    {'J', "--job-name"},
    {'K', "--kill-on-bad-exit"},
    {'k', "--no-kill"},
    {'L', "--licenses"},
    {'l', "--label"},
    {'M', "--clusters"},
    {'m', "--distribution"},
    {'N', "--nodes"},
    {'n', "--ntasks"},
    {'O', "--overcommit"},
    {'o', "--output"},
    {'p', "--partition"},
    {'Q', "--quiet"},
    {'q', "--qos"},
    {'S', "--core-spec"},
    {'s', "--oversubscribe"},
    {'t', "--time"},
    {'V', "--version"},
    {'W', "--wait"},
    {'w', "--nodelist"},
    {'x', "--exclude"},
}};

struct Reason {
  std::string_view name, why;
};

constexpr std::array sbatch_reasons{
    Reason{"--account", "use slurm.account, or --account of octet submit"},
    Reason{"--array", "each task of an array would be a job of the same run; use --chain of octet submit"},
    Reason{"--chdir", "the job begins where it is submitted"},
    Reason{"--clusters", "squeue would look for the job elsewhere; set SLURM_CLUSTERS"},
    Reason{"--constraint", "use slurm.constraint, or --constraint of octet submit"},
    Reason{"--container", "the script would run in another root; use container.image"},
    Reason{"--container-id", "the script would run in another root; use container.image"},
    Reason{"--core-spec", "cores would be missing that ranks are given; use cpu.cores"},
    Reason{"--cores-per-socket", "use cpu.cores"},
    Reason{"--cpus-per-gpu", "excludes --cpus-per-task; use cpu.cores"},
    Reason{"--cpus-per-task", "use cpu.cores and cpu.threads_per_core"},
    Reason{"--dependency", "jobs of one run wait for each other by it; use --after of octet submit"},
    Reason{"--distribution", "ranks are placed by the list of their hosts; use launcher.rank_order"},
    Reason{"--error", "the log is one file, RUN/job-ID.out"},
    Reason{"--exclude", "use --exclude of octet submit"},
    Reason{"--exclusive", "use slurm.exclusive"},
    Reason{"--export", "the job would lack variables; use environment.variables"},
    Reason{"--export-file", "use environment.variables"},
    Reason{"--extra-node-info", "use cpu.cores"},
    Reason{"--get-user-env", "the job would get a login shell's variables; use environment.variables"},
    Reason{"--gpu-bind", "a rank that sees one GPU has no NVLink; NCCL must see all of a node"},
    Reason{"--gpus", "use gpus.per_node, gpus.request and gpus.slurm_type"},
    Reason{"--gpus-per-node", "use gpus.per_node, gpus.request and gpus.slurm_type"},
    Reason{"--gpus-per-socket", "use gpus.per_node, gpus.request and gpus.slurm_type"},
    Reason{"--gpus-per-task", "a rank that sees one GPU has no NVLink; use gpus.per_node"},
    Reason{"--gres", "use gpus.per_node, gpus.request and gpus.slurm_type"},
    Reason{"--help", "is no option of a job"},
    Reason{"--hold", "use --hold of octet submit"},
    Reason{"--input", "the script reads nothing"},
    Reason{"--job-name", "jobs of one run wait for each other by their name, which comes from run.dir"},
    Reason{"--kill-on-invalid-dep", "jobs of one run wait for each other by their name"},
    Reason{"--no-kill", "use --spares of octet submit"},
    Reason{"--no-requeue", "the job could not come back; use --chain of octet submit where it may not be requeued"},
    Reason{"--nodefile", "use --exclude of octet submit"},
    Reason{"--nodelist", "use --exclude of octet submit"},
    Reason{"--nodes", "use --nodes and --spares of octet submit"},
    Reason{"--ntasks", "use --nodes of octet submit and launcher.ranks_per_node"},
    Reason{"--ntasks-per-core", "use launcher.ranks_per_node"},
    Reason{"--ntasks-per-gpu", "use launcher.ranks_per_node"},
    Reason{"--ntasks-per-node", "use launcher.ranks_per_node"},
    Reason{"--ntasks-per-socket", "use launcher.ranks_per_node"},
    Reason{"--open-mode", "a requeued job goes on in the same log"},
    Reason{"--output", "the log is RUN/job-ID.out; use --run.dir"},
    Reason{"--overcommit", "ranks would share cores; use launcher.ranks_per_node"},
    Reason{"--oversubscribe", "use slurm.exclusive"},
    Reason{"--parsable", "octet submit says it itself"},
    Reason{"--partition", "use slurm.partition, or --partition of octet submit"},
    Reason{"--qos", "use slurm.qos, or --qos of octet submit"},
    Reason{"--quiet", "octet submit reads what sbatch says"},
    Reason{"--requeue", "the script has it"},
    Reason{"--reservation", "use slurm.reservation, or --reservation of octet submit"},
    Reason{"--segment", "use slurm.topology and slurm.leaf_nodes"},
    Reason{"--signal", "by it the run is told to save; use launcher.min_lead_seconds"},
    Reason{"--sockets-per-node", "use cpu.cores"},
    Reason{"--spread-job", "nodes would be as far apart as they can be; use slurm.topology"},
    Reason{"--switches", "use slurm.topology, slurm.leaf_nodes and slurm.switch_wait_minutes"},
    Reason{"--test-only", "use --dry-run of octet submit"},
    Reason{"--thread-spec", "cores would be missing that ranks are given; use cpu.cores"},
    Reason{"--threads-per-core", "use cpu.threads_per_core"},
    Reason{"--time", "use slurm.time, or --time of octet submit"},
    Reason{"--time-min", "the time to save is reckoned from the limit; use slurm.time"},
    Reason{"--tres-bind", "a rank that sees one GPU has no NVLink"},
    Reason{"--tres-per-task", "a rank that sees one GPU has no NVLink; use gpus.per_node"},
    Reason{"--use-min-nodes", "nodes are asked for by their number"},
    Reason{"--version", "is no option of a job"},
    Reason{"--wait", "octet submit would wait for the end of the job; use octet submit status"},
    Reason{"--wait-all-nodes", "the script has it"},
    Reason{"--wrap", "the script is octet submit's"},
};

/// With slurm.exclusive alone: the job then asks for all memory of its nodes.
constexpr std::array memory_reasons{
    Reason{"--mem", "the job asks for all memory of its nodes; use slurm.exclusive = false"},
    Reason{"--mem-per-cpu", "the job asks for all memory of its nodes; use slurm.exclusive = false"},
    Reason{"--mem-per-gpu", "the job asks for all memory of its nodes; use slurm.exclusive = false"},
};

constexpr std::array srun_reasons{
    Reason{"--bcast", "the program would run without its libraries"},
    Reason{"--chdir", "relative paths of a run begin at the job's folder"},
    Reason{"--container", "use container.image"},
    Reason{"--container-env", "use container.options"},
    Reason{"--container-image", "use container.image"},
    Reason{"--container-mounts", "use container.mounts"},
    Reason{"--container-name", "use container.options"},
    Reason{"--container-workdir", "use container.workdir"},
    Reason{"--core-spec", "cores would be missing that ranks are given; use cpu.cores"},
    Reason{"--cpu-bind", "use cpu.bind"},
    Reason{"--cpus-per-gpu", "excludes --cpus-per-task; use cpu.cores"},
    Reason{"--cpus-per-task", "use cpu.cores and cpu.threads_per_core"},
    Reason{"--dependency", "a step does not wait for other jobs"},
    Reason{"--distribution", "ranks are placed by the list of their hosts; use launcher.rank_order"},
    Reason{"--error", "the end of a run is read in what its ranks say"},
    Reason{"--exact", "a rank would be given less than it is planned for"},
    Reason{"--exclude", "octet job says which nodes take part; use --exclude of octet submit"},
    Reason{"--exclusive", "a step would wait for another one of the job"},
    Reason{"--export", "ranks would lack the job's variables; use environment.variables"},
    Reason{"--extra-node-info", "use cpu.cores"},
    Reason{"--gpu-bind", "a rank that sees one GPU has no NVLink; NCCL must see all of a node"},
    Reason{"--gpus", "use gpus.per_node"},
    Reason{"--gpus-per-node", "use gpus.per_node"},
    Reason{"--gpus-per-task", "a rank that sees one GPU has no NVLink; use gpus.per_node"},
    Reason{"--gres", "use gpus.per_node"},
    Reason{"--help", "nothing would run"},
    Reason{"--hint", "changes how many threads of a core count; use cpu.threads_per_core"},
    Reason{"--immediate", "srun would give up where nodes are slow to answer"},
    Reason{"--input", "ranks read nothing"},
    Reason{"--jobid", "the step is the job's"},
    Reason{"--kill-on-bad-exit", "the script has it: a rank that fails ends the launch"},
    Reason{"--label", "the end of a run is read in what its ranks say"},
    Reason{"--mem", "a step has all memory of its job; use slurm.exclusive"},
    Reason{"--mem-bind", "memory would be bound to other nodes than the cores"},
    Reason{"--mem-per-cpu", "excludes --mem, which the job has; use slurm.exclusive"},
    Reason{"--mem-per-gpu", "excludes --mem, which the job has; use slurm.exclusive"},
    Reason{"--mpi", "use launcher.mpi"},
    Reason{"--multi-prog", "all ranks run octet-train"},
    Reason{"--no-kill", "a launch ends with its first lost node"},
    Reason{"--nodefile", "octet job says which nodes take part"},
    Reason{"--nodelist", "octet job says which nodes take part"},
    Reason{"--nodes", "use --nodes of octet submit"},
    Reason{"--ntasks", "use --nodes of octet submit and launcher.ranks_per_node"},
    Reason{"--ntasks-per-core", "use launcher.ranks_per_node"},
    Reason{"--ntasks-per-gpu", "use launcher.ranks_per_node"},
    Reason{"--ntasks-per-node", "use launcher.ranks_per_node"},
    Reason{"--ntasks-per-socket", "use launcher.ranks_per_node"},
    Reason{"--open-mode", "ranks write into the job's log, which goes on after a requeue"},
    Reason{"--output", "what ranks say belongs into the job's log"},
    Reason{"--overcommit", "ranks would share cores"},
    Reason{"--overlap", "the script says which steps share cores"},
    Reason{"--oversubscribe", "the script says which steps share cores"},
    Reason{"--pty", "ranks read nothing"},
    Reason{"--quiet", "the end of a run is read in what srun says"},
    Reason{"--signal", "by the job's own the run is told to save; use launcher.min_lead_seconds"},
    Reason{"--task-prolog", "ranks would get variables that nobody has looked at; use environment.variables"},
    Reason{"--test-only", "nothing would run"},
    Reason{"--thread-spec", "cores would be missing that ranks are given; use cpu.cores"},
    Reason{"--threads-per-core", "use cpu.threads_per_core"},
    Reason{"--time", "a step lasts as long as its job may; use slurm.time"},
    Reason{"--version", "nothing would run"},
    Reason{"--wait", "the script has it"},
    Reason{"--wrap", "is no option of srun"},
};

const Reason* find(std::span<const Reason> reasons, const std::string& name) {
  for (const Reason& r : reasons) {
    if (r.name == name) return &r;
  }
  // getopt also takes the beginning of a name that only one option has.
  for (const Reason& r : reasons) {
    if (name.starts_with("--") && name.size() > 2 && r.name.starts_with(name)) return &r;
  }
  return nullptr;
}

std::string unquoted(const std::string& text) {
  const bool quoted = text.size() >= 2 && text.front() == text.back() && (text.front() == '"' || text.front() == '\'');
  return quoted ? text.substr(1, text.size() - 2) : text;
}

}  // namespace

SlurmOption parse_slurm_option(const std::string& text) {
  const bool is_long = text.starts_with("--");
  const bool is_option = text.size() > (is_long ? 2 : 1) && text.starts_with('-') && text[1] != '=' && text[1] != ' ';
  if (!is_option || text.find('\n') != std::string::npos) {
    throw usage_error("cluster", "{}: expected an option like --comment=nightly", in_quotes(text));
  }
  SlurmOption out;
  if (is_long) {
    const std::size_t end = text.find_first_of("= ");
    out.name = text.substr(0, end);
    out.has_value = end != std::string::npos;
    if (out.has_value) out.value = unquoted(trimmed(text.substr(end + 1)));
    return out;
  }
  const auto letter = std::ranges::find(letters, text[1], &std::pair<char, std::string_view>::first);
  out.name = letter == letters.end() ? text.substr(0, 2) : std::string(letter->second);
  out.has_value = text.size() > 2;
  if (out.has_value) out.value = unquoted(trimmed(text.substr(2)));
  return out;
}

std::string sbatch_line(const SlurmOption& option) {
  if (!option.has_value) return option.name;
  const bool is_long = option.name.starts_with("--");
  return fmt::format("{}{}{}", option.name, is_long ? "=" : " ", sbatch_value(option.value));
}

std::string argument_of(const SlurmOption& option) {
  if (!option.has_value) return option.name;
  return fmt::format("{}{}{}", option.name, option.name.starts_with("--") ? "=" : "", option.value);
}

std::string sbatch_option_problem(const SlurmOption& option, bool exclusive) {
  const Reason* reason = find(sbatch_reasons, option.name);
  if (reason == nullptr && exclusive) reason = find(memory_reasons, option.name);
  return reason == nullptr ? "" : std::string(reason->why);
}

std::string srun_option_problem(const SlurmOption& option) {
  const Reason* reason = find(srun_reasons, option.name);
  return reason == nullptr ? "" : std::string(reason->why);
}

}  // namespace octet
