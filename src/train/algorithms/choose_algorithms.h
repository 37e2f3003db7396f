#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels/algorithm_choices.h"
#include "src/comm/communicator.h"
#include "src/run_config/run_config.h"
#include "src/train/start/run_directory.h"

namespace octet {

/// A library of the device, for one kind of problem, or a test's in its place.
struct AlgorithmLibrary {
  std::function<AlgorithmPlatform()> platform;
  /// This rank's problems, with the FLOPs of running each once.
  std::function<std::map<std::string, double>()> problems;
  /// Times some of them, in this order. What it leaves out has nothing to choose from.
  std::function<AlgorithmChoices(const std::vector<std::string>&)> time;
  std::function<void(const AlgorithmChoices&)> use;
};

/// How one kind of problem is chosen for.
struct AlgorithmRules {
  AlgorithmKind kind;
  std::string_view option;     ///< that says how
  AlgorithmSearch how;         ///< its value
  bool may_time = false;       ///< CudaSettings::may_time_gemms or may_time_attention
  std::string path;            ///< of the file of choices
  bool path_is_named = false;  ///< by a person
  std::string used_path;       ///< of a file that says that choices have been used; it stays when theirs is lost
  std::string_view many;       ///< what messages call the problems
  double step_flops = 0;       ///< of a training step
  double building_flops = 0;   ///< that the GPU misses while a problem's plans are built
};

/// Chooses what a library does for each problem of a run, before the run takes its memory. Choices of an earlier start
/// of the run, or of the named file, are used again. Missing ones are timed, a share of them on each rank; rank 0 then
/// writes the file, and beside it a mark that there were choices. So all ranks have the same choices, and a resumed run
/// has those that it had. Where it has others, or none any more, a warning says so: losses then go on within rounding
/// only. A rank whose library or GPU is not rank 0's leaves the choice to the library's heuristic, with a shared
/// warning. A usage error for a named file that holds no choices, and for a file that cannot be written since its path
/// is wrong; an internal error where a full disk or a device refuses it. Throws as files::look_by_first where a file
/// cannot be read. Collective over `control`.
void choose_algorithms(const RunConfig& config, const AlgorithmRules& rules, const RunDirectory& directory,
                       Communicator& control, const AlgorithmLibrary& library);

}  // namespace octet
