#include "src/comm/mpi/mpi_runtime.h"

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/base/hosts.h"
#include "src/base/log.h"
#include "src/comm/mpi/mpi_handles.h"
#include "src/comm/operation.h"

namespace octet {
namespace {

int number_of(const char* text) {
  return text == nullptr ? 0 : std::atoi(text);
}

int count_same_cores(MPI_Comm node, int ranks) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) return ranks;
  std::vector<cpu_set_t> all(static_cast<std::size_t>(ranks));
  check_mpi(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, node), "MPI_Allgather");
  return static_cast<int>(
      std::count_if(all.begin(), all.end(), [&](const cpu_set_t& other) { return CPU_EQUAL(&mine, &other) != 0; }));
}

/// Variables by which launchers tell the processes that they start how many these are.
constexpr std::array<std::pair<const char*, std::string_view>, 5> size_variables{{
    {"OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun"},
    {"MV2_COMM_WORLD_SIZE", "MVAPICH's launcher"},
    {"JSM_NAMESPACE_SIZE", "jsrun"},
    {"FLUX_JOB_SIZE", "flux run"},
    {"PMI_SIZE", "a launcher of another PMI"},
}};
/// Variables of launchers that tell only the rank: where it is above 0, there are other ranks.
constexpr std::array<const char*, 2> rank_variables{"PMIX_RANK", "PALS_RANKID"};

/// A task of an srun step of several tasks.
bool is_lost_task(const EnvironmentReader& environment) {
  if (environment("SLURM_STEP_ID") == nullptr) return false;
  // In an interactive step SLURM_NTASKS is the allocation's; SLURM_STEP_NUM_TASKS is always the step's.
  const char* of_step = environment("SLURM_STEP_NUM_TASKS");
  const int tasks = number_of(of_step != nullptr ? of_step : environment("SLURM_NTASKS"));
  return tasks > 1 && environment("PMI_SIZE") == nullptr;
}

}  // namespace

std::string launch_contradiction(int mpi_size, const EnvironmentReader& environment) {
  if (mpi_size != 1) return "";
  const std::string advice = "this program's MPI is MPICH: start it with MPICH's mpiexec, or with srun --mpi=pmi2";
  for (const auto& [name, launcher] : size_variables) {
    const int processes = number_of(environment(name));
    if (processes > 1) {
      return fmt::format("{} started {} processes ({}={}), but MPI sees one rank in each; {}", launcher, processes,
                         name, processes, advice);
    }
  }
  for (const char* name : rank_variables) {
    if (number_of(environment(name)) > 0) {
      return fmt::format("a launcher of another MPI made this process its rank {} ({}), but MPI sees one rank; {}",
                         environment(name), name, advice);
    }
  }
  if (!is_lost_task(environment)) return "";
  return "srun started several tasks, but MPI sees one rank in each; start with srun --mpi=pmi2";
}

std::string node_name(const std::string& host, const EnvironmentReader& environment) {
  const char* name = environment("SLURMD_NODENAME");
  const bool by_srun = environment("SLURM_STEP_ID") != nullptr && environment("MPI_LOCALNRANKS") == nullptr;
  return by_srun && name != nullptr ? name : host;
}

MpiRuntime::MpiRuntime(int& argc, char**& argv) {
  int provided = MPI_THREAD_SINGLE;
  {
    const OperationScope operation("MPI_Init_thread");
    check_mpi(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  }
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  const auto environment = [](const char* name) { return std::getenv(name); };
  node_ = node_name(host_name(), environment);
  log::set_identity(rank_, size_, node_);
  if (const std::string why = launch_contradiction(size_, environment); !why.empty()) {
    MPI_Finalize();
    throw usage_error("comm", "{} (docs/problems.md, \"MPI sees one rank\")", why);
  }
  if (provided < MPI_THREAD_FUNNELED) {
    throw internal_error("comm", "MPI offers thread level {}, expected MPI_THREAD_FUNNELED ({})", provided,
                         static_cast<int>(MPI_THREAD_FUNNELED));
  }
  const OperationScope operation("MPI_Comm_split by node");
  const NodeName mine = sendable(node_);
  std::vector<NodeName> names(static_cast<std::size_t>(size_));
  check_mpi(MPI_Allgather(mine.data(), mine.size(), MPI_BYTE, names.data(), mine.size(), MPI_BYTE, MPI_COMM_WORLD),
            "MPI_Allgather");
  MpiComm node;
  check_mpi(MPI_Comm_split(MPI_COMM_WORLD, first_rank_of_node(names, rank_), rank_, node.out()), "MPI_Comm_split");
  MPI_Comm_rank(node.get(), &local_rank_);
  MPI_Comm_size(node.get(), &local_size_);
  ranks_on_same_cores_ = count_same_cores(node.get(), local_size_);
}

MpiRuntime::~MpiRuntime() {
  enter(RunPhase::end);
  const OperationScope operation("MPI_Finalize");
  MPI_Finalize();
}

NodeName sendable(const std::string& name) {
  NodeName out{};
  name.copy(out.data(), out.size() - 1);
  return out;
}

int first_rank_of_node(const std::vector<NodeName>& names, int rank) {
  const NodeName& mine = names[static_cast<std::size_t>(rank)];
  return static_cast<int>(std::ranges::find(names, mine) - names.begin());
}

}  // namespace octet
