#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/gemm_choices.h"
#include "src/comm/communicator.h"
#include "src/train/plan/gemm_list.h"
#include "src/train/run/run_environment.h"

namespace octet {

/// The functions of kernels/gemm_timing.h on a stream, or a test's in their place.
struct GemmBackend {
  std::function<GemmPlatform()> platform;
  std::function<std::vector<Gemm>(const Gemm&)> products;
  std::function<std::string(const Gemm&)> problem;
  std::function<GemmChoices(std::span<const Gemm>)> time;
  std::function<void(const GemmChoices&)> use;
};
GemmBackend gemm_backend(Stream& stream);

/// Chooses the algorithms of a run's GEMMs on GPUs as config.cuda says, before the run takes its memory. What an
/// earlier start of it chose, or stands in the file of cuda.gemm_plans, is used again. What is missing is timed, a
/// share of it on each rank; rank 0 then writes the file. So all ranks have the same choices, and a resumed run those
/// that it had. Where it has others, a warning says so: losses go on within rounding. A rank whose library or GPU is
/// not rank 0's leaves the choice to the library's heuristic, with a shared warning. Usage errors: a file of
/// cuda.gemm_plans that is none, a file that cannot be written. Collective over the hosts.
void choose_gemms(const RunConfig& config, const RunEnvironment& environment);

/// The same for `gemms` of this rank, with whatever stands for the device.
void choose_gemms(const RunConfig& config, const GemmList& gemms, const RunDirectory& directory, Communicator& control,
                  const GemmBackend& backend);

}  // namespace octet
