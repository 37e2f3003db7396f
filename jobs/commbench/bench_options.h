#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/commbench/measure.h"
#include "jobs/commbench/teams.h"
#include "jobs/run/command_line.h"
#include "src/comm/mesh.h"

namespace octet::commbench {

/// How the sweep is printed.
enum class Columns : std::uint8_t {
  nccl_tests,  ///< out of place and in place, averages
  octet,       ///< as training has it alone; median and 95th percentile
};
constexpr auto names_of(Columns) {
  return std::to_array<std::string_view>({"nccl-tests", "octet"});
}

/// What octet-commbench was asked to do.
struct Options {
  bool help = false;
  bool sweep = false;             ///< also where nothing else is asked for
  std::int64_t min = 8, max = 0;  ///< bytes
  std::int64_t factor = 2;
  std::vector<std::string> collectives;  ///< of the sweep (sweep_collectives.h)
  DType dtype = DType::f32;              ///< of what does not reduce
  Columns columns = Columns::nccl_tests;
  bool compare_mpi = false;
  PairsOf pairs = PairsOf::none;
  std::int64_t pair_size = 0;
  double tolerance = 1.25;
  MeasureSettings measure;
  double timeout = 120;  ///< seconds of one operation
  std::string json;      ///< file; empty: none
  DeviceType device = DeviceType::cpu;
  NcclSettings nccl;
  std::optional<CommandLine> run;  ///< of --config
};

/// `[--config RUN.yaml [--section.key VALUE]...] [OPTIONS]`; those of nccl-tests are read too (nccl_tests_options.h).
/// Throws usage errors.
Options parse_options(int argc, const char* const* argv);

/// The options on that many ranks: the layout of the run, where there is one, and what NCCL's groups follow from it.
/// Throws as the run's laid_out (src/run_config/checks/layout.h).
Options laid_out(Options options, int ranks);
/// The mesh of such options.
MeshShape mesh_shape(const Options& options, int ranks);

/// Text of --help.
std::string usage_text();

}  // namespace octet::commbench
