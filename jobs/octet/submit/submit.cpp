// octet submit: from a run's YAML file to a job of Slurm, and what becomes of it.
#include <fmt/ostream.h>

#include <filesystem>
#include <iostream>
#include <sstream>

#include "jobs/octet/commands.h"
#include "jobs/octet/submit/follow.h"
#include "jobs/octet/submit/program.h"
#include "jobs/octet/submit/run_record.h"
#include "jobs/octet/submit/shell.h"
#include "jobs/octet/submit/submission.h"
#include "src/base/log.h"
#include "src/base/options/text.h"
#include "src/base/printable.h"
#include "src/cluster/environment/job_environment.h"
#include "src/cluster/environment/job_findings.h"
#include "src/cluster/machine/running_program.h"
#include "src/cluster/slurm_job.h"
#include "src/run_config/options/run_options.h"

namespace octet {
namespace submit {
namespace {

/// Slurm as this machine reaches it.
struct Slurm {
  SlurmVersion version = oldest_slurm;  ///< that scripts are written for
  bool answers = false;
};

/// A dry run needs no Slurm.
Slurm find_slurm(const SubmitOptions& o) {
  Slurm slurm;
  std::string why = find_program("sbatch").empty() ? "sbatch is not on PATH" : why_no_slurm_conf();
  if (why.empty()) {
    const ProgramResult result =
        run_program({"sbatch", "--version"}, slurm_patience);  // which reads its configuration, too
    slurm.answers = result.succeeded();
    if (slurm.answers) slurm.version = parse_slurm_version(result.out);
    why = result.failure("sbatch --version");
  }
  if (!slurm.answers && !o.dry_run) {
    throw usage_error("submit", "{}\nexpected a machine that submits to Slurm; --dry-run prints the script on any",
                      why);
  }
  if (!o.slurm_version.empty()) {
    slurm.version = parse_slurm_version(o.slurm_version);
  } else if (!slurm.answers) {
    log::warning("{}; the script is written for Slurm {} (--slurm-version)", why, to_text(oldest_slurm));
  }
  return slurm;
}

/// What Slurm says of the script before it is queued. A test looks at no node that is down or drained, where the queue
/// waits for it: then sbatch itself, which looks at all of them, has to say whether the cluster has such nodes.
void test_script(const std::string& script) {
  const std::vector<std::string> words = {"sbatch", "--test-only"};
  const ProgramResult result = run_program(words, slurm_patience, script);
  if (!result.succeeded() && result.err.find("Requested node configuration is not available") != std::string::npos) {
    log::warning(
        "the job cannot start on the nodes that are up now, and may wait for others (docs/problems.md, \"Slurm would "
        "not take the job\"); {} said: {}",
        command_text(words), readable(result.err));
    return;
  }
  if (!result.succeeded()) {
    throw usage_error("submit",
                      "Slurm would not take this job (docs/problems.md, \"Slurm would not take the job\"): {}\n  it "
                      "was asked by: {} < job.sh\n  it said: {}{}",
                      ending(result, "sbatch"), command_text(words), result.err, result.out);
  }
  log::info("{}", result.err.substr(0, result.err.find('\n')));
}

/// Of "123" or "123;cluster", which --parsable prints; a site's own sbatch may print lines of its own around it.
std::string job_id(const std::string& printed, const std::string& name) {
  std::string id;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    const std::string number = line.substr(0, line.find(';'));
    if (is_job_number(number)) id = number;
  }
  if (!id.empty()) return id;
  throw internal_error("submit",
                       "sbatch --parsable printed {}, expected a line with the number of a job. It may have queued one "
                       "all the same, which is not noted: `squeue --me --name={}` shows it",
                       in_quotes(printed), name);
}

/// Of a chain whose first jobs Slurm has taken: they stay in the queue, since they go on with the run.
Error cut_short(const Error& refusal, const std::vector<std::string>& ids, const Submission& s, std::int64_t chain) {
  return {
      refusal.code(),
      fmt::format("{}\nSlurm has taken {} of the chain's {} jobs: {}. They train the run without the rest. `{}` ends "
                  "them; the same command with --chain {} adds the rest, once Slurm takes more",
                  refusal.what(), ids.size(), chain, fmt::join(ids, ", "),
                  command_text({"octet", "submit", "cancel", s.job.run_dir}), chain - std::ssize(ids))};
}

/// Of a job that would end as another does: a person who changes any of this has done something about that end.
std::string mark_of(const Submission& s, const SubmitOptions& o) {
  return settings_mark({to_yaml(s.run.config), to_yaml(s.job.profile), std::to_string(o.nodes),
                        std::to_string(o.spares), o.time, o.exclude, o.account, o.partition, o.qos, o.constraint,
                        o.reservation});
}

/// Each job is noted as soon as Slurm has it.
std::vector<std::string> submit_jobs(const Submission& s, const SubmitOptions& o) {
  std::vector<std::string> ids;
  for (std::int64_t link = 0; link < o.chain; ++link) {
    const LastWords doubt(
        fmt::format("octet submit was ended while sbatch was at work, which may have queued a job that is not noted: "
                    "`squeue --me --name={}` shows it\n",
                    s.job.name));
    std::vector<std::string> words = {"sbatch", "--parsable"};
    if (o.hold && link == 0) words.emplace_back("--hold");  // the others wait for it
    words.push_back(s.job.run_dir + "/job.sh");
    try {
      ids.push_back(job_id(run_or_throw(words), s.job.name));
    } catch (const Error& refusal) {
      if (ids.empty()) throw;
      throw cut_short(refusal, ids, s, o.chain);
    }
    record_job(s.job.run_dir, {.id = ids.back(),
                               .name = s.job.name,
                               .cluster = s.job.profile.name,
                               .nodes = o.nodes,
                               .spares = o.spares,
                               .run_dir = s.job.run_dir,
                               .steps = s.job.steps,
                               .settings = mark_of(s, o)});
  }
  return ids;
}

void print_where(const Submission& s, const std::vector<std::string>& ids) {
  const std::string& run = s.job.run_dir;
  log::out("submitted {} on {} nodes of {}, {} ranks: {}", fmt::join(ids, ", "), s.job.nodes, s.job.profile.name,
           s.job.ranks(), s.job.name);
  log::out("script    {}/job.sh", run);
  log::out("log       {}/job-{}.out", run, ids.front());
  log::out("metrics   {}/metrics.jsonl", run);
  log::out("status    octet submit status {}", command_text({run}));
}

/// Names and sizes, then the contents as head and tail print those of several files; the script comes last.
void print_files(const Submission& s, const SubmitOptions& o) {
  const std::string& run = s.job.run_dir;
  const std::vector<PlannedFile> files = s.files(o.chain);
  std::error_code unknown;
  log::out("{}{} would get these files; nothing is written:", run,
           std::filesystem::exists(run, unknown) ? "" : ", a new folder,");
  for (const PlannedFile& file : files) {
    log::out("  {:<15} {}", file.name, file.text.empty() ? file.note : fmt::format("{} bytes", file.text.size()));
  }
  if (s.run_yaml.empty()) log::out("  {:<15} stays as it is", "submitted.yaml");
  for (const PlannedFile& file : files) {
    if (!file.text.empty()) fmt::print(std::cout, "\n==> {}/{} <==\n{}", run, file.name, file.text);
  }
  std::cout.flush();
}

int submit(const SubmitCommand& command) {
  const SubmitOptions& o = command.options;
  ClusterProfile profile = read_profile(o.cluster, command.profile_overrides);
  clear_shell(profile);
  const Slurm slurm = find_slurm(o);
  const Submission submission = prepare(command, profile, slurm.version);
  if (slurm.answers) test_script(submission.script);
  if (o.dry_run) {
    print_files(submission, o);
    for (const std::string& text : submission.notes) log::warning("{}", text);
    return 0;
  }
  for (const std::string& text : submission.notes) log::warning("{}", text);
  write_run_directory(submission);
  print_where(submission, submit_jobs(submission, o));
  return 0;
}

ClusterProfile profile_to_print(const SubmitCommand& command) {
  if (command.options.cluster.empty()) throw usage_error("submit", "which cluster? --cluster NAME");
  return read_profile(command.options.cluster, command.profile_overrides);
}

/// A first word that is no file and all but the name of a subcommand.
void refuse_mistyped_subcommand(const std::string& word) {
  std::error_code unknown;
  if (word.starts_with('-') || std::filesystem::exists(word, unknown)) return;
  const std::string hint = nearest_hint(word, {"status", "cancel", "logs"});
  if (!hint.empty()) {
    throw usage_error("submit", "{}: is no file, no run and no subcommand{}; octet submit --help", in_quotes(word),
                      hint);
  }
}

int print_profile(const SubmitCommand& command) {
  fmt::print(std::cout, "{}", to_yaml(profile_to_print(command)));
  return 0;
}

/// As it is in a job without a run directory; what is odd about it goes to stderr, past the shell that reads this.
int print_environment(const SubmitCommand& command) {
  const ClusterProfile profile = profile_to_print(command);
  for (const std::string& finding : environment_findings(profile, "", inherited_variables(Machine(), &profile))) {
    log::warning("{}", finding);
  }
  fmt::print(std::cout, "{}", environment_lines(profile, job_environment(profile, "")));
  return 0;
}

}  // namespace
}  // namespace submit

int run_submit(const std::vector<std::string>& arguments) {
  const std::string first = arguments.empty() ? "" : arguments[0];
  std::vector<std::string> rest(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  if (first == "help") {  // `octet submit help logs`
    rest.emplace_back("--help");
    return run_submit(rest);
  }
  submit::clear_client_settings();
  if (first == "status") return submit::run_status(rest);
  if (first == "cancel") return submit::run_cancel(rest);
  if (first == "logs") return submit::run_logs(rest);
  submit::refuse_mistyped_subcommand(first);
  const submit::SubmitCommand command = submit::parse_submit(arguments);
  switch (command.action) {
    case submit::SubmitCommand::Action::help:
      fmt::print(std::cout, "{}", submit::submit_usage());
      return 0;
    case submit::SubmitCommand::Action::print_reference:
      fmt::print(std::cout, "{}", profile_reference_page());
      return 0;
    case submit::SubmitCommand::Action::print_profile:
      return submit::print_profile(command);
    case submit::SubmitCommand::Action::print_environment:
      return submit::print_environment(command);
    case submit::SubmitCommand::Action::submit:
      break;
  }
  return submit::submit(command);
}

}  // namespace octet
