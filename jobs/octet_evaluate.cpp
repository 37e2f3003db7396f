// octet-evaluate: one rank of an evaluation. `mpiexec -n N octet-evaluate MODEL [OPTIONS]`, --help says more.
#include <fmt/ranges.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include "jobs/evaluate/evaluate_tasks.h"
#include "jobs/evaluate/evaluate_texts.h"
#include "jobs/evaluate/generate.h"
#include "jobs/rank_main.h"
#include "jobs/ranks/library_versions.h"
#include "jobs/ranks/rank_binding.h"
#include "jobs/ranks/same_lines.h"
#include "jobs/ranks/world.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/train/start/reporting_failure.h"

namespace octet::evaluate {
namespace {

MeshShape shape_of(std::int64_t tp, int ranks) {
  if (ranks % tp != 0) {
    throw usage_error("evaluate", "--tp {}: the job has {} ranks, expected a divisor of that number", tp, ranks);
  }
  return {.dp_shard = ranks / static_cast<int>(tp), .tp = static_cast<int>(tp)};
}

/// A path that cannot be a folder is a wrong command; a full disk is what the machine refused.
void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return;
  errno = error.value();
  throw Error(not_written("evaluate", folder).code(),
              fmt::format("[evaluate] --output: {}: cannot be made: {}", folder, why_not_written(error.value())));
}

void measure(const Options& options, const Ranks& ranks) {
  if (options.generates) return generate(options.model, options.generate, options.models, ranks);
  options.tasks.empty() ? evaluate_texts(options, ranks) : evaluate_tasks(options, ranks);
}

int evaluate(const Options& options, const std::string& words, MpiRuntime& mpi) {
  const ControlGroup group;
  Communicator& control = *group.control;
  require_same_lines("the ranks have different options", {words}, control);
  const MeshShape shape = shape_of(options.models.tp, mpi.size());
  for (const std::string& folder : {options.output, compared_folder(options)}) {
    if (!folder.empty() && mpi.rank() == 0) make_folder(folder);
  }
  const NcclSettings nccl;
  const Binding binding = bind_rank(options.cpu, options.models.device, nccl, mpi, control);
  log::info("{}", binding.cpu);
  std::unique_ptr<Stream> stream;
  std::optional<Mesh> mesh;
  return run_reporting_failure({.control = control, .on_gpu = options.models.device == DeviceType::cuda}, [&] {
    stream = open_device(options.models.device, mpi, control, nccl).make_stream();
    warn_of_other_libraries(*stream, mpi, control);
    mesh.emplace(make_world(*stream, mpi, control, nccl), shape);
    measure(options, {.mesh = *mesh, .stream = *stream, .control = control});
    return log::after_output(0);
  });
}

int body(Watchdog& watchdog, MpiRuntime& mpi, int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  watchdog.set_limits({.start = options.timeout, .step = options.timeout, .checkpoint = options.timeout});
  if (!options.help) return evaluate(options, fmt::format("{}", fmt::join(argv + 1, argv + argc, " ")), mpi);
  if (mpi.rank() == 0) fmt::print("{}", usage_text());
  return log::after_output(0);
}

}  // namespace
}  // namespace octet::evaluate

int main(int argc, char** argv) {
  return octet::rank_main("octet-evaluate", argc, argv, octet::evaluate::body);
}
