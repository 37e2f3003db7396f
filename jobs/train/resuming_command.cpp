#include "jobs/train/resuming_command.h"

#include <fmt/format.h>

#include "src/base/environment.h"
#include "src/cluster/shell_text.h"

namespace octet {
namespace {

bool is_set(const char* name) {
  return !environment_variable(name).empty();
}

}  // namespace

std::string resuming_command(const std::vector<std::string>& words, int ranks, const std::string& run_dir,
                             const std::string& directory) {
  if (is_set("OCTET_LAUNCH")) return "octet submit " + shell_word(directory);
  // MPI_LOCALNRANKS is of MPICH's mpiexec, also where that starts its processes by srun.
  const bool by_srun = is_set("SLURM_STEP_ID") && !is_set("MPI_LOCALNRANKS");
  std::string command = fmt::format("{} -n {}", by_srun ? "srun" : "mpiexec", ranks);
  for (const std::string& word : words) command += fmt::format(" {}", shell_word(word));
  return run_dir.empty() ? command + " --run.dir " + shell_word(directory) : command;
}

}  // namespace octet
