// octet-commbench: one rank of a measurement of collectives. `mpiexec -n N octet-commbench [OPTIONS]`, --help says
// more.
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include "jobs/commbench/bench_context.h"
#include "jobs/rank_main.h"
#include "jobs/ranks/rank_binding.h"
#include "jobs/ranks/same_lines.h"
#include "jobs/ranks/world.h"
#include "src/base/log.h"
#include "src/base/usable_cores.h"
#include "src/base/utc_now.h"
#include "src/comm/control_exchange.h"
#include "src/comm/mpi/plain_mpi.h"
#include "src/comm/nccl_communicator.h"
#include "src/device/hardware_queues.h"
#include "src/train/start/reporting_failure.h"

namespace octet::commbench {
namespace {

/// What libraries of communication and CUDA are told by their environment.
nlohmann::ordered_json communication_environment() {
  auto out = nlohmann::ordered_json::object();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    for (const char* prefix :
         {"NCCL_", "MPIR_CVAR_", "UCX_", "FI_", "OCTET_TUNING_FILE", "OMP_NUM_THREADS", hardware_queues_variable}) {
      if (text.starts_with(prefix) && equals != std::string::npos)
        out[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }
  return out;
}

Provenance provenance_of(const std::vector<std::string>& node_of, Device& device, int argc, char** argv) {
  Provenance out{.created = utc_now(),
                 .version = OCTET_VERSION,
                 .backend = device.type() == DeviceType::cuda ? "NCCL" : "MPI",
                 .library = mpi_library(),
                 .command = "octet-commbench",
                 .nccl = device.type() == DeviceType::cuda ? nccl_version() : "",
                 .hosts = {},
                 .devices = {},
                 .ranks = static_cast<int>(node_of.size()),
                 .environment = communication_environment()};
  if (!out.nccl.empty()) out.library = fmt::format("NCCL {}, {}", out.nccl, device.name());
  for (const std::string& node : node_of) {
    if (std::ranges::find(out.hosts, node) == out.hosts.end()) out.hosts.push_back(node);
  }
  for (int i = 1; i < argc; ++i) out.command += std::string(" ") + argv[i];
  return out;
}

/// Sizes and groups of collectives must be those of the other ranks.
void require_same_options(const Options& options, int argc, char** argv, Communicator& control) {
  std::vector<std::string> lines{fmt::format("{}", fmt::join(argv + 1, argv + argc, " "))};
  if (options.run) {
    for (std::string& line : option_lines(options.run->config)) lines.push_back(std::move(line));
  }
  require_same_lines("the ranks have different options", std::move(lines), control);
}

/// What computes and speaks: nothing of it is taken down before a failure is told.
struct RankMachine {
  std::unique_ptr<Stream> stream;
  std::optional<Mesh> mesh;
  std::unique_ptr<Communicator> plain;
};

Report begin_report(const Options& options, const Binding& binding, const std::vector<std::string>& node_of,
                    Device& device, const MpiRuntime& mpi, Communicator& control, int argc, char** argv) {
  Provenance provenance = provenance_of(node_of, device, argc, argv);
  const auto index = static_cast<int>(mpi.local_rank() / options.nccl.ranks_per_gpu);
  provenance.devices = gather_bytes(device_line(mpi.rank(), mpi.node(), index, device), control);
  const int cores = usable_cores();
  if (binding.ranks_on_same_cores > cores) {
    provenance.cores = cores;
    provenance.ranks_on_cores = binding.ranks_on_same_cores;
  }
  Report report(std::move(provenance));
  std::istringstream bindings(binding.table);
  for (std::string line; std::getline(bindings, line);) report.comment(line);
  return report;
}

int measure_all(const Options& given, MpiRuntime& mpi, int argc, char** argv) {
  if (!given.json.empty() && mpi.rank() == 0) Report::check_writable(given.json);
  const ControlGroup group;
  Communicator& control = *group.control;
  require_same_options(given, argc, argv, control);
  const Options options = laid_out(given, mpi.size());
  const CpuConfig cpu = options.run ? options.run->config.cpu : CpuConfig();
  const Binding binding = bind_rank(cpu, options.device, options.nccl, mpi, control);
  RankMachine machine;
  return run_reporting_failure({.control = control, .on_gpu = options.device == DeviceType::cuda}, [&] {
    Device& device = open_device(options.device, mpi, control, options.nccl);
    machine.stream = device.make_stream();
    Stream& stream = *machine.stream;
    Mesh& mesh = machine.mesh.emplace(make_world(stream, mpi, control, options.nccl), mesh_shape(options, mpi.size()));
    if (options.compare_mpi) machine.plain = make_plain_mpi_communicator(stream, "plain MPI");

    const std::vector<std::string> node_of = gather_bytes(mpi.node(), control);
    Report report = begin_report(options, binding, node_of, device, mpi, control, argc, argv);
    const Context context{options, control, node_of, report};
    if (options.sweep) run_sweep(context, mesh.world(), machine.plain.get());
    if (options.run) run_steps(context, mesh);
    if (options.pairs != PairsOf::none) run_pairs(context, mesh.world());
    report.finish();
    if (!options.json.empty() && mpi.rank() == 0) report.write(options.json);
    return log::after_output(report.wrong() == 0 ? 0 : static_cast<int>(ExitCode::unhealthy));
  });
}

int body(Watchdog& watchdog, MpiRuntime& mpi, int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  watchdog.set_limits({.start = options.timeout, .step = options.timeout});
  if (!options.help) return measure_all(options, mpi, argc, argv);
  if (mpi.rank() == 0) fmt::print("{}", usage_text());
  return log::after_output(0);
}

}  // namespace
}  // namespace octet::commbench

int main(int argc, char** argv) {
  return octet::rank_main("octet-commbench", argc, argv, octet::commbench::body);
}
