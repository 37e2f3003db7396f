#include "src/cluster/job_script.h"

#include <algorithm>
#include <cmath>

#include "src/base/options/text.h"
#include "src/base/round_up.h"
#include "src/cluster/shell_text.h"
#include "src/cluster/slurm_options.h"
#include "src/cluster/slurm_variables.h"

namespace octet {
namespace {

/// Lines of the script, one after the other.
class Lines {
 public:
  template <typename... Args>
  void line(fmt::format_string<Args...> text, Args&&... args) {
    text_ += fmt::format(text, std::forward<Args>(args)...) + "\n";
  }
  /// A line of #SBATCH below one that says why.
  void sbatch(std::string_view option, std::string_view why = "") {
    if (!why.empty()) line("# {}:", why);
    line("#SBATCH {}", option);
  }
  /// The same, unless the value is empty.
  void sbatch_value_of(std::string_view option, const std::string& value, std::string_view why = "") {
    if (!value.empty()) sbatch(fmt::format("{}={}", option, sbatch_value(value)), why);
  }
  void add(std::string_view text) { text_ += text; }
  void set(std::string_view name, std::string_view value) { line("{}={}", name, shell_word(value)); }
  void set(std::string_view name, std::int64_t value) { line("{}={}", name, value); }
  void set(std::string_view name, const std::vector<std::string>& values) {
    std::vector<std::string> words;
    words.reserve(values.size());
    for (const std::string& value : values) words.push_back(shell_word(value));
    line("{}=({})", name, joined(words, " "));
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

/// % begins a pattern of sbatch.
std::string as_file_name(const std::string& path) {
  std::string out;
  for (const char c : path) out.append(c == '%' ? 2 : 1, c);
  return out;
}

/// A value for --segment: the largest number of nodes that divides the job's, fits a block, and with which the job
/// needs no more blocks than without it. 1 where there is none, or where the cluster of `all` nodes (0: unknown) has
/// too few blocks.
std::int64_t segment(std::int64_t nodes, std::int64_t block, std::int64_t all) {
  const std::int64_t blocks = ceil_div(nodes, block);
  if (all > 0 && blocks > all / block) return 1;
  std::int64_t size = std::min(nodes, block);
  while (nodes % size != 0 || ceil_div(nodes / size, block / size) > blocks) --size;
  return size;
}

void add_placement(const JobScript& job, Lines& out) {
  const SlurmProfile& s = job.profile.slurm;
  const std::int64_t nodes = job.nodes + job.spares;
  if (s.leaf_nodes == 0) return;
  if (s.topology == TopologyKind::tree) {
    const std::int64_t leaves = ceil_div(nodes, s.leaf_nodes);
    const std::string wait = s.switch_wait_minutes > 0 ? fmt::format("@{}", s.switch_wait_minutes) : "";
    out.sbatch(fmt::format("--switches={}{}", leaves, wait),
               fmt::format("as few leaves of {} nodes as hold the job{}", s.leaf_nodes,
                           wait.empty() ? "" : fmt::format(", waited for {} minutes", s.switch_wait_minutes)));
  } else if (s.topology == TopologyKind::block && has(job.slurm, SlurmFeature::segment)) {
    const std::int64_t size = segment(nodes, s.leaf_nodes, job.profile.nodes.count);
    if (size == 1) return;
    out.sbatch(fmt::format("--segment={}", size),
               fmt::format("nodes that stay together in a block of {}", s.leaf_nodes));
  }
}

void add_resources(const JobScript& job, Lines& out) {
  const ClusterProfile& p = job.profile;
  out.sbatch(
      fmt::format("--nodes={}", job.nodes + job.spares),
      job.spares > 0 ? fmt::format("{} to train on, {} to take the place of a lost one", job.nodes, job.spares) : "");
  out.sbatch(fmt::format("--ntasks-per-node={}", p.ranks_per_node()));
  out.sbatch(fmt::format("--cpus-per-task={}", p.cpus_per_rank()));
  const std::string gpus = (p.gpus.slurm_type.empty() ? "" : p.gpus.slurm_type + ":") + std::to_string(p.gpus.per_node);
  if (p.gpus.per_node > 0 && p.gpus.request != GpuRequest::none) {
    out.sbatch((p.gpus.request == GpuRequest::gpus ? "--gpus-per-node=" : "--gres=gpu:") + gpus,
               "the node's GPUs for all its ranks: NCCL must see every one to use NVLink");
  }
  if (p.slurm.exclusive) {
    out.sbatch("--exclusive");
    out.sbatch("--mem=0", "all memory of a node");
  }
  add_placement(job, out);
  out.sbatch("--wait-all-nodes=1");
  // Without spares Slurm requeues the whole job when a node fails, also when that is the node of the script.
  if (job.spares > 0) out.sbatch("--no-kill", "the allocation outlives a node that fails: a spare takes its place");
}

void add_life(const JobScript& job, Lines& out) {
  out.sbatch_value_of("--time", job.time);
  out.sbatch(fmt::format("--signal=B:USR1@{}", job.lead_seconds),
             "to this script, which passes it on: time to save before the limit");
  out.sbatch("--requeue");
  out.sbatch("--open-mode=append", "a requeued job goes on in the same log");
  out.sbatch_value_of("--output", fmt::format("{}/job-%j.out", as_file_name(job.run_dir)));
  out.sbatch(fmt::format("--dependency={}singleton", job.after.empty() ? "" : fmt::format("afterany:{},", job.after)),
             "never two jobs in one run directory: jobs of this name come one after the other");
}

void add_options(const JobScript& job, Lines& out) {
  const SlurmProfile& s = job.profile.slurm;
  out.sbatch_value_of("--job-name", job.name);
  out.sbatch_value_of("--partition", s.partition);
  out.sbatch_value_of("--account", s.account);
  out.sbatch_value_of("--qos", s.qos);
  out.sbatch_value_of("--constraint", s.constraint);
  out.sbatch_value_of("--reservation", s.reservation);
  out.sbatch_value_of("--mail-user", s.mail_user);
  out.sbatch_value_of("--mail-type", s.mail_type);
  add_resources(job, out);
  out.sbatch_value_of("--exclude", job.exclude);
  add_life(job, out);
  out.sbatch_value_of("--chdir", job.working_dir);
  for (const std::string& text : s.options) {
    const SlurmOption option = parse_slurm_option(text);
    const bool replaced = (option.name == "--mail-user" && !s.mail_user.empty()) ||
                          (option.name == "--mail-type" && !s.mail_type.empty());
    if (!replaced) out.sbatch(sbatch_line(option));
  }
}

/// The job inherits the variables of the shell that submits.
void add_shell(const JobScript& job, Lines& out) {
  out.line("");
  out.line("# --- what the shell that submits, or a job around it, must not say to srun, squeue and scancel");
  out.add(unset_lines(job.profile));
}

void add_refusals(const JobScript& job, Lines& out) {
  out.line("");
  out.line("# --- what sbatch has taken before the lines above");
  out.add(
      "refuse() {\n"
      "  echo \"[job $SLURM_JOB_ID] stop: $1\"\n"
      "  \"$octet\" job refused --run-dir \"$run_dir\" --job \"$SLURM_JOB_ID\" --reason \"$1\"\n"
      "  exit 64\n"
      "}\n");
  out.add(refusing_lines(job.profile.slurm));
  out.line("");
}

void add_modules(const ClusterProfile& profile, Lines& out) {
  for (const std::string& module : profile.software.modules) out.line("module load {}", shell_word(module));
}

void add_variables(const ClusterProfile& profile, const std::vector<EnvironmentValue>& environment, Lines& out) {
  for (const EnvironmentValue& v : environment) {
    const std::string end = v.review.empty() ? "" : fmt::format("; look at it again with NCCL {}", v.review);
    out.line("export {}={}  # {}{}", v.name, shell_word(v.value), v.reason, end);
  }
  for (const EnvironmentValue& v : profile.environment.variables) {
    if (v.unset) out.line("unset {}  # {}", v.name, v.reason);
  }
}

void add_environment(const JobScript& job, Lines& out) {
  out.line("");
  out.line("# --- environment");
  add_modules(job.profile, out);
  if (has(job.slurm, SlurmFeature::srun_ignores_cpus_per_task)) {
    out.line("export SRUN_CPUS_PER_TASK={}  # srun of Slurm {} does not read SLURM_CPUS_PER_TASK",
             job.profile.cpus_per_rank(), to_text(job.slurm));
  }
  add_variables(job.profile, job.environment, out);
}

void add_settings(const JobScript& job, Lines& out) {
  const LauncherProfile& l = job.profile.launcher;
  out.line("");
  out.line("# --- settings of what stands below them");
  out.set("octet", job.octet);
  out.set("octet_train", job.octet_train);
  out.set("cluster", job.run_dir + "/cluster.yaml");
  out.set("run_config", job.run_config);
  out.set("run_dir", job.run_dir);
  out.set("nodes", job.nodes);
  out.set("spares", job.spares);
  out.set("steps", job.steps);
  out.set("user_exclude", job.exclude);
  out.set("ranks_per_node", job.profile.ranks_per_node());
  out.set("cpus_per_rank", job.profile.cpus_per_rank());
  out.set("mpi", l.mpi);
  out.set("max_restarts", l.max_restarts);
  out.set("min_lead_seconds", l.min_lead_seconds);
  out.set("grace_seconds", job.lead_seconds);
  out.set("preflight", l.preflight ? 1 : 0);
  out.set("rank_order", std::string(name_of(l.rank_order)));
  out.set("octet_in_step", job.octet_in_step.empty() ? job.octet : job.octet_in_step);
  std::vector<std::string> srun_options;
  srun_options.reserve(l.srun_options.size());
  for (const std::string& text : l.srun_options) srun_options.push_back(argument_of(parse_slurm_option(text)));
  out.set("container_options", job.container_options);
  out.set("srun_options", srun_options);
  out.set("train_options", job.train_options);
}

}  // namespace

std::string render(const JobScript& job, std::string_view body) {
  Lines out;
  out.line("#!/bin/bash");
  out.line("# shellcheck disable=SC2034  # settings are there whether they are read or not");
  out.line("# Written by octet submit: {} on {} nodes of {}, {} ranks. Submitted again with: sbatch {}", job.name,
           job.nodes, job.profile.name, job.ranks(), shell_word(fmt::format("{}/job.sh", job.run_dir)));
  add_options(job, out);
  add_shell(job, out);
  add_environment(job, out);
  add_settings(job, out);
  add_refusals(job, out);
  return std::move(out).text() + std::string(body);
}

std::string environment_lines(const ClusterProfile& profile, const std::vector<EnvironmentValue>& environment) {
  Lines out;
  add_modules(profile, out);
  add_variables(profile, environment, out);
  return std::move(out).text();
}

std::int64_t stop_lead_seconds(std::int64_t least, double checkpoint_seconds) {
  if (!(checkpoint_seconds > 0)) return least;
  const double needed = std::ceil(2 * std::min(checkpoint_seconds, 1e6) + 60);
  return std::max(least, static_cast<std::int64_t>(needed));
}

}  // namespace octet
