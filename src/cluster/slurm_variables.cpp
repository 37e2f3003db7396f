#include "src/cluster/slurm_variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/base/options/text.h"
#include "src/cluster/shell_text.h"
#include "src/cluster/slurm_options.h"

namespace octet {
namespace {

using enum ShellVariable;

constexpr std::array sbatch_table{
    SlurmVariable{"SBATCH_ACCOUNT", "--account", choice, "who pays"},
    SlurmVariable{"SBATCH_ACCTG_FREQ", "--acctg-freq", harmless, ""},
    SlurmVariable{"SBATCH_ARRAY_INX", "--array", fights, "each task of an array would be a job of the same run"},
    SlurmVariable{"SBATCH_BATCH", "--batch", fights, "asks for features that the profile does not name"},
    SlurmVariable{"SBATCH_CLUSTERS", "--clusters", fights, "squeue would look for the job elsewhere (SLURM_CLUSTERS)"},
    SlurmVariable{"SBATCH_CONSTRAINT", "--constraint", choice, "which nodes"},
    SlurmVariable{"SBATCH_CONTAINER", "--container", fights, "the script would run in another root"},
    SlurmVariable{"SBATCH_CONTAINER_ID", "--container-id", fights, "the script would run in another root"},
    SlurmVariable{"SBATCH_CORE_SPEC", "--core-spec", fights, "cores would be missing that ranks are given"},
    SlurmVariable{"SBATCH_CPUS_PER_GPU", "--cpus-per-gpu", fights, "excludes --cpus-per-task"},
    SlurmVariable{"SBATCH_DEBUG", "--verbose", harmless, ""},
    SlurmVariable{"SBATCH_DELAY_BOOT", "--delay-boot", harmless, ""},
    SlurmVariable{"SBATCH_DISTRIBUTION", "--distribution", fights, "srun would place tasks by it"},
    SlurmVariable{"SBATCH_ERROR", "--error", fights, "the log would be in two files"},
    SlurmVariable{"SBATCH_EXCLUSIVE", "--exclusive", fights, "slurm.exclusive of the profile says it"},
    SlurmVariable{"SBATCH_EXPORT", "--export", fights, "the job would lack, or gain, variables"},
    SlurmVariable{"SBATCH_GET_USER_ENV", "--get-user-env", fights, "the job would get a login shell's variables"},
    SlurmVariable{"SBATCH_GPU_BIND", "--gpu-bind", fights, "a rank that sees one GPU has no NVLink"},
    SlurmVariable{"SBATCH_GPU_FREQ", "--gpu-freq", fights, "the GPUs would run at another clock"},
    SlurmVariable{"SBATCH_GPUS", "--gpus", fights, "gpus.per_node of the profile says it"},
    SlurmVariable{"SBATCH_GPUS_PER_NODE", "--gpus-per-node", fights, "gpus.per_node of the profile says it"},
    SlurmVariable{"SBATCH_GPUS_PER_TASK", "--gpus-per-task", fights, "a rank that sees one GPU has no NVLink"},
    SlurmVariable{"SBATCH_GRES", "--gres", fights, "gpus.request of the profile says it"},
    SlurmVariable{"SBATCH_GRES_FLAGS", "--gres-flags", fights, "changes which GPUs tasks see"},
    SlurmVariable{"SBATCH_HINT", "--hint", fights, "changes how many threads of a core count"},
    SlurmVariable{"SBATCH_IGNORE_PBS", "--ignore-pbs", harmless, ""},
    SlurmVariable{"SBATCH_INPUT", "--input", fights, "the script reads nothing"},
    SlurmVariable{"SBATCH_JOB_NAME", "--job-name", fights, "jobs of one run wait for each other by their name"},
    SlurmVariable{"SBATCH_MEM_BIND", "--mem-bind", fights, "memory would be bound to other nodes than the cores"},
    SlurmVariable{"SBATCH_MEM_PER_CPU", "--mem-per-cpu", fights, "the job asks for all memory of its nodes"},
    SlurmVariable{"SBATCH_MEM_PER_GPU", "--mem-per-gpu", fights, "the job asks for all memory of its nodes"},
    SlurmVariable{"SBATCH_MEM_PER_NODE", "--mem", fights, "the job asks for all memory of its nodes"},
    SlurmVariable{"SBATCH_NETWORK", "--network", fights, "asks the fabric for what the profile does not name"},
    SlurmVariable{"SBATCH_NO_KILL", "--no-kill", fights, "whether a lost node ends the job is decided by --spares"},
    SlurmVariable{"SBATCH_NO_REQUEUE", "--no-requeue", fights, "the job could not come back"},
    SlurmVariable{"SBATCH_OPEN_MODE", "--open-mode", fights, "a requeued job would overwrite its log"},
    SlurmVariable{"SBATCH_OUTPUT", "--output", fights, "the log would be elsewhere"},
    SlurmVariable{"SBATCH_OVERCOMMIT", "--overcommit", fights, "ranks would share cores"},
    SlurmVariable{"SBATCH_PARTITION", "--partition", choice, "which nodes"},
    SlurmVariable{"SBATCH_POWER", "--power", harmless, ""},
    SlurmVariable{"SBATCH_PROFILE", "--profile", harmless, ""},
    SlurmVariable{"SBATCH_QOS", "--qos", choice, "which limits"},
    SlurmVariable{"SBATCH_REQ_SWITCH", "--switches", fights, "slurm.topology of the profile says it"},
    SlurmVariable{"SBATCH_REQUEUE", "--requeue", harmless, ""},
    SlurmVariable{"SBATCH_RESERVATION", "--reservation", choice, "which nodes"},
    SlurmVariable{"SBATCH_SEGMENT_SIZE", "--segment", fights, "slurm.topology of the profile says it"},
    SlurmVariable{"SBATCH_SIGNAL", "--signal", fights, "the run would not be told to save in time"},
    SlurmVariable{"SBATCH_SPREAD_JOB", "--spread-job", fights, "nodes would be as far apart as they can be"},
    SlurmVariable{"SBATCH_THREAD_SPEC", "--thread-spec", fights, "cores would be missing that ranks are given"},
    SlurmVariable{"SBATCH_THREADS_PER_CORE", "--threads-per-core", fights, "cpu.threads_per_core says it"},
    SlurmVariable{"SBATCH_TIMELIMIT", "--time", fights, "the time to save is reckoned from the script's limit"},
    SlurmVariable{"SBATCH_TRES_BIND", "--tres-bind", fights, "a rank that sees one GPU has no NVLink"},
    SlurmVariable{"SBATCH_TRES_PER_TASK", "--tres-per-task", fights, "a rank that sees one GPU has no NVLink"},
    SlurmVariable{"SBATCH_USE_MIN_NODES", "--use-min-nodes", fights, "nodes are asked for by their number"},
    SlurmVariable{"SBATCH_WAIT", "--wait", fights, "octet submit would wait for the end of the job"},
    SlurmVariable{"SBATCH_WAIT4SWITCH", "--switches", fights, "slurm.switch_wait_minutes of the profile says it"},
    SlurmVariable{"SBATCH_WAIT_ALL_NODES", "--wait-all-nodes", fights, "the job would begin before its nodes are up"},
    SlurmVariable{"SBATCH_WCKEY", "--wckey", harmless, ""},
};

constexpr std::array srun_table{
    SlurmVariable{"SLURM_ACCOUNT", "--account", slurms, ""},
    SlurmVariable{"SLURM_ACCTG_FREQ", "--acctg-freq", harmless, ""},
    SlurmVariable{"SLURM_BCAST", "--bcast", fights, "the program would be copied, and run without its libraries"},
    SlurmVariable{"SLURM_BCAST_EXCLUDE", "--bcast-exclude", harmless, ""},
    SlurmVariable{"SLURM_BURST_BUFFER", "--bb", harmless, ""},
    SlurmVariable{"SLURM_CLUSTERS", "--clusters", fights, "a step is of the job's own cluster"},
    SlurmVariable{"SLURM_COMPRESS", "--compress", harmless, ""},
    SlurmVariable{"SLURM_CONF", "", slurms, ""},
    SlurmVariable{"SLURM_CONSTRAINT", "--constraint", fights, "a step would be refused nodes of the job"},
    SlurmVariable{"SLURM_CORE_SPEC", "--core-spec", fights, "cores would be missing that ranks are given"},
    SlurmVariable{"SLURM_CPU_BIND", "--cpu-bind", fights, "ranks would be bound as in another job"},
    SlurmVariable{"SLURM_CPU_FREQ_REQ", "--cpu-freq", fights, "cores would run at another clock"},
    SlurmVariable{"SLURM_CPUS_PER_GPU", "--cpus-per-gpu", fights, "excludes --cpus-per-task"},
    SlurmVariable{"SLURM_CPUS_PER_TASK", "--cpus-per-task", slurms, ""},
    SlurmVariable{"SLURM_DEBUG", "--verbose", harmless, ""},
    SlurmVariable{"SLURM_DEBUG_FLAGS", "", harmless, ""},
    SlurmVariable{"SLURM_DELAY_BOOT", "--delay-boot", harmless, ""},
    SlurmVariable{"SLURM_DEPENDENCY", "--dependency", fights, "a step would wait for another job"},
    SlurmVariable{"SLURM_DISABLE_STATUS", "--disable-status", harmless, ""},
    SlurmVariable{"SLURM_DIST_PLANESIZE", "--distribution", fights, "srun would place tasks by it"},
    SlurmVariable{"SLURM_DISTRIBUTION", "--distribution", fights, "srun would place tasks by it"},
    SlurmVariable{"SLURM_EPILOG", "--epilog", fights, "srun would run a program of another job"},
    SlurmVariable{"SLURM_EXACT", "--exact", fights, "a step would be given less than its nodes"},
    SlurmVariable{"SLURM_EXCLUSIVE", "--exclusive", fights, "a step would wait for another one of the job"},
    SlurmVariable{"SLURM_EXIT_ERROR", "", fights, "a refusal of sbatch or srun could look like a success"},
    SlurmVariable{"SLURM_EXIT_IMMEDIATE", "", fights, "a refusal of srun could look like a success"},
    SlurmVariable{"SLURM_EXPORT_ENV", "--export", fights, "ranks would lack the job's variables"},
    SlurmVariable{"SLURM_GPU_BIND", "--gpu-bind", fights, "a rank that sees one GPU has no NVLink"},
    SlurmVariable{"SLURM_GPU_FREQ", "--gpu-freq", fights, "the GPUs would run at another clock"},
    SlurmVariable{"SLURM_GPUS", "--gpus", fights, "gpus.per_node of the profile says it"},
    SlurmVariable{"SLURM_GPUS_PER_NODE", "--gpus-per-node", slurms, ""},
    SlurmVariable{"SLURM_GPUS_PER_TASK", "--gpus-per-task", fights, "a rank that sees one GPU has no NVLink"},
    SlurmVariable{"SLURM_GRES", "--gres", fights, "gpus.request of the profile says it"},
    SlurmVariable{"SLURM_GRES_FLAGS", "--gres-flags", fights, "changes which GPUs tasks see"},
    SlurmVariable{"SLURM_HINT", "--hint", fights, "changes how many threads of a core count"},
    SlurmVariable{"SLURM_HOSTFILE", "--distribution", fights, "tasks would be placed by another list of hosts"},
    SlurmVariable{"SLURM_IMMEDIATE", "--immediate", fights, "srun would give up where nodes are slow to answer"},
    SlurmVariable{"SLURM_JOB_ID", "--jobid", slurms, ""},
    SlurmVariable{"SLURM_JOB_NAME", "--job-name", slurms, ""},
    SlurmVariable{"SLURM_JOB_NUM_NODES", "--nodes", slurms, ""},
    SlurmVariable{"SLURM_KILL_BAD_EXIT", "--kill-on-bad-exit", slurms, ""},
    SlurmVariable{"SLURM_LABELIO", "--label", fights, "the end of a run is read in what its ranks say"},
    SlurmVariable{"SLURM_MEM_BIND", "--mem-bind", fights, "memory would be bound to other nodes than the cores"},
    SlurmVariable{"SLURM_MEM_PER_CPU", "--mem-per-cpu", fights, "excludes --mem, which the job has"},
    SlurmVariable{"SLURM_MEM_PER_GPU", "--mem-per-gpu", fights, "excludes --mem, which the job has"},
    SlurmVariable{"SLURM_MEM_PER_NODE", "--mem", slurms, ""},
    SlurmVariable{"SLURM_MPI_TYPE", "--mpi", fights, "launcher.mpi of the profile says it"},
    SlurmVariable{"SLURM_NETWORK", "--network", fights, "asks the fabric for what the profile does not name"},
    SlurmVariable{"SLURM_NNODES", "--nodes", slurms, ""},
    SlurmVariable{"SLURM_NO_KILL", "--no-kill", fights, "a launch ends with its first lost node"},
    SlurmVariable{"SLURM_NPROCS", "--ntasks", slurms, ""},
    SlurmVariable{"SLURM_NTASKS", "--ntasks", slurms, ""},
    SlurmVariable{"SLURM_NTASKS_PER_CORE", "--ntasks-per-core", fights, "tasks are placed by the list of their hosts"},
    SlurmVariable{"SLURM_NTASKS_PER_GPU", "--ntasks-per-gpu", fights, "excludes --ntasks-per-node"},
    SlurmVariable{"SLURM_NTASKS_PER_NODE", "--ntasks-per-node", slurms, ""},
    SlurmVariable{"SLURM_NTASKS_PER_SOCKET", "--ntasks-per-socket", fights,
                  "tasks are placed by the list of their hosts"},
    SlurmVariable{"SLURM_OPEN_MODE", "--open-mode", harmless, ""},
    SlurmVariable{"SLURM_OVERCOMMIT", "--overcommit", fights, "ranks would share cores"},
    SlurmVariable{"SLURM_OVERLAP", "--overlap", fights, "the script says which steps share cores"},
    SlurmVariable{"SLURM_PARTITION", "--partition", slurms, ""},
    SlurmVariable{"SLURM_PMI_KVS_NO_DUP_KEYS", "", harmless, ""},
    SlurmVariable{"SLURM_POWER", "--power", harmless, ""},
    SlurmVariable{"SLURM_PROFILE", "--profile", harmless, ""},
    SlurmVariable{"SLURM_PROLOG", "--prolog", fights, "srun would run a program of another job"},
    SlurmVariable{"SLURM_QOS", "--qos", slurms, ""},
    SlurmVariable{"SLURM_REMOTE_CWD", "--chdir", fights, "relative paths of a run begin at the job's folder"},
    SlurmVariable{"SLURM_REQ_SWITCH", "--switches", fights, "a step has the nodes that it has"},
    SlurmVariable{"SLURM_RESERVATION", "--reservation", slurms, ""},
    SlurmVariable{"SLURM_RESV_PORTS", "--resv-ports", harmless, ""},
    SlurmVariable{"SLURM_SEND_LIBS", "--send-libs", harmless, ""},
    SlurmVariable{"SLURM_SIGNAL", "--signal", fights, "ranks would be told to stop at another time"},
    SlurmVariable{"SLURM_SPREAD_JOB", "--spread-job", fights, "a step has the nodes that it has"},
    SlurmVariable{"SLURM_SRUN_REDUCE_TASK_EXIT_MSG", "", harmless, ""},
    SlurmVariable{"SLURM_STDERRMODE", "--error", fights, "the end of a run is read in what its ranks say"},
    SlurmVariable{"SLURM_STDINMODE", "--input", fights, "ranks read nothing"},
    SlurmVariable{"SLURM_STDOUTMODE", "--output", fights, "what ranks say belongs into the job's log"},
    SlurmVariable{"SLURM_STEP_GRES", "--gres", fights, "a step would be given less than its nodes"},
    SlurmVariable{"SLURM_STEP_KILLED_MSG_NODE_ID", "", harmless, ""},
    SlurmVariable{"SLURM_TASK_EPILOG", "--task-epilog", fights, "srun would run a program of another job"},
    SlurmVariable{"SLURM_TASK_PROLOG", "--task-prolog", fights, "srun would run a program of another job"},
    SlurmVariable{"SLURM_TEST_EXEC", "", fights, "a program in a container is not on the host"},
    SlurmVariable{"SLURM_THREAD_SPEC", "--thread-spec", fights, "cores would be missing that ranks are given"},
    SlurmVariable{"SLURM_THREADS", "--threads", harmless, ""},
    SlurmVariable{"SLURM_THREADS_PER_CORE", "--threads-per-core", fights, "cpu.threads_per_core says it"},
    SlurmVariable{"SLURM_TIMELIMIT", "--time", fights, "a step lasts as long as its job may"},
    SlurmVariable{"SLURM_TRES_BIND", "--tres-bind", fights, "a rank that sees one GPU has no NVLink"},
    SlurmVariable{"SLURM_TRES_PER_TASK", "--tres-per-task", fights, "a rank that sees one GPU has no NVLink"},
    SlurmVariable{"SLURM_UMASK", "", slurms, ""},
    SlurmVariable{"SLURM_UNBUFFEREDIO", "--unbuffered", harmless, ""},
    SlurmVariable{"SLURM_USE_MIN_NODES", "--use-min-nodes", fights, "a step has the nodes that it has"},
    SlurmVariable{"SLURM_WAIT", "--wait", slurms, ""},
    SlurmVariable{"SLURM_WAIT4SWITCH", "--switches", fights, "a step has the nodes that it has"},
    SlurmVariable{"SLURM_WCKEY", "--wckey", harmless, ""},
    SlurmVariable{"SLURM_WORKING_DIR", "--chdir", fights, "relative paths of a run begin at the job's folder"},
    SlurmVariable{"SLURMD_DEBUG", "--slurmd-debug", harmless, ""},
};

/// By which Slurm's commands find the cluster and are let in.
constexpr std::array<std::string_view, 9> access{"SLURM_CONF",        "SLURM_CONF_SERVER", "SLURM_CLUSTERS",
                                                 "SLURM_JWT",         "SLURM_SACK_KEY",    "SLURM_SACK_SOCKET",
                                                 "SLURM_DEBUG_FLAGS", "SLURM_TIME_FORMAT", "SLURM_DEBUG"};

/// What launchers leave in the environment of what they start, and what squeue and scancel take for options.
constexpr std::array<std::string_view, 9> prefixes{"SRUN_",     "SALLOC_", "PMI_",     "PMIX_",  "OMPI_COMM_WORLD_",
                                                   "MPI_LOCAL", "SQUEUE_", "SCANCEL_", "SLURMD_"};

/// Whether slurm.options have this option: Slurm then hands it on to the job's steps in the variable.
bool is_asked_for(const ClusterProfile& profile, std::string_view option) {
  return !option.empty() && std::ranges::any_of(profile.slurm.options, [&](const std::string& text) {
    return parse_slurm_option(text).name == option;
  });
}

}  // namespace

std::span<const SlurmVariable> sbatch_variables() {
  return sbatch_table;
}

std::span<const SlurmVariable> srun_variables() {
  return srun_table;
}

const SlurmVariable* find_slurm_variable(std::string_view name) {
  for (const std::span<const SlurmVariable> table : {sbatch_variables(), srun_variables()}) {
    const auto found = std::ranges::find(table, name, &SlurmVariable::name);
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

std::string SlurmProfile::*choice_field(std::string_view name) {
  if (name == "SBATCH_ACCOUNT") return &SlurmProfile::account;
  if (name == "SBATCH_PARTITION") return &SlurmProfile::partition;
  if (name == "SBATCH_QOS") return &SlurmProfile::qos;
  if (name == "SBATCH_CONSTRAINT") return &SlurmProfile::constraint;
  if (name == "SBATCH_RESERVATION") return &SlurmProfile::reservation;
  return nullptr;
}

bool is_left_out(std::string_view name) {
  if (name.starts_with("SLURM_")) return std::ranges::find(access, name) == access.end();
  if (name.starts_with("SBATCH_")) {
    const SlurmVariable* v = find_slurm_variable(name);
    return v == nullptr || v->kind == fights;
  }
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::string unset_lines(const ClusterProfile& profile) {
  std::string out = "unset";
  for (const std::string_view prefix : prefixes) {
    if (prefix != "SLURMD_") out += fmt::format(" \"${{!{}@}}\"", prefix);  // SLURMD_NODENAME is this node's
  }
  out += "\nunset";
  for (const SlurmVariable& v : srun_table) {
    if (v.kind == fights && !is_asked_for(profile, v.option)) out += fmt::format(" {}", v.name);
  }
  // Those of a job that asked for GPUs or memory, where this one does not.
  if (profile.gpus.per_node == 0 || profile.gpus.request != GpuRequest::gpus) out += " SLURM_GPUS_PER_NODE";
  if (!profile.slurm.exclusive && !is_asked_for(profile, "--mem")) out += " SLURM_MEM_PER_NODE";
  return out + "\n";
}

std::string refusing_lines(const SlurmProfile& profile) {
  std::vector<std::string> stays;
  for (const SlurmVariable& v : sbatch_table) {
    if (v.kind == fights) continue;
    const auto field = choice_field(v.name);
    const bool any = field == nullptr || (profile.*field).empty();
    stays.push_back(fmt::format("{}={}", v.name, any ? "*" : shell_word(profile.*field)));
  }
  return fmt::format(
      "for name in \"${{!SBATCH_@}}\"; do\n"
      "  case $name=${{!name}} in {}) continue ;; esac\n"
      "  refuse \"sbatch took $name=${{!name}} before what this script says (man sbatch, INPUT ENVIRONMENT VARIABLES):"
      " unset it and submit again, or use octet submit, which leaves it out\"\n"
      "done\n",
      joined(stays, " | "));
}

}  // namespace octet
