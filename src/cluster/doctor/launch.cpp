#include <fmt/format.h>

#include <algorithm>

#include "src/base/options/text.h"
#include "src/cluster/doctor/doctor_checks.h"
#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

/// The names that `srun --mpi=list` prints below its first line, on standard output or, before Slurm 20.11, on the
/// other one: "MPI plugin types are...", "pmi2".
std::vector<std::string> plugins_of(const ProgramResult& list) {
  std::vector<std::string> out;
  for (const std::string& line : lines_of(list.out + "\n" + list.err)) {
    const std::string word = split(line, ':').back();
    if (!word.empty() && word.find(' ') == std::string::npos) out.push_back(word);
  }
  return out;
}

bool offers(const std::vector<std::string>& plugins, const std::string& wanted) {
  return std::ranges::any_of(plugins,
                             [&](const std::string& p) { return p == wanted || p.starts_with(wanted + "_v"); });
}

}  // namespace

/// How srun starts MPI programs.
Findings node_checks::check_launch(const Examination& e) {
  const char* check = "launch.mpi";
  const ProgramResult list = e.machine.run("srun-mpi-list", {"srun", "--mpi=list"}, 5);
  if (!list.succeeded()) {
    return {
        missing(check, false, list.found ? "no Slurm answers: " + list.failure("srun") : list.failure("srun"), "", "")};
  }
  const std::string wanted = e.profile == nullptr ? "pmi2" : e.profile->launcher.mpi;
  const std::vector<std::string> plugins = plugins_of(list);
  if (!offers(plugins, wanted)) {
    return {{check, FindingState::bad, "Slurm offers " + joined(plugins), wanted,
             fmt::format("install Slurm's plugin mpi/{0}: without srun --mpi={0} every rank starts as a run of its own",
                         wanted)}};
  }
  const ProgramResult config = e.machine.run("scontrol-config", {"scontrol", "show", "config"}, 5);
  std::string standard = value_after(config.out, "MpiDefault", '=');
  if (const std::string chosen = e.machine.variable("SLURM_MPI_TYPE"); !chosen.empty()) standard = chosen;
  if (standard == wanted) return {good(check, fmt::format("{}, srun's default", wanted))};
  return {{check, FindingState::warning,
           fmt::format("{} is there; srun's default is {}", wanted, standard.empty() ? "unknown" : standard),
           fmt::format("MpiDefault={}", wanted),
           fmt::format("give srun --mpi={} or set SLURM_MPI_TYPE, as the scripts of octet submit do", wanted)}};
}

}  // namespace octet
