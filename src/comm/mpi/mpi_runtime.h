#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace octet {

/// MPI for the life of the process, and who this process is. Main thread only (MPI_THREAD_FUNNELED).
/// Rank and size come from MPI alone: launchers' variables can be missing or wrong (Slurm's are those of the proxy when
/// mpiexec starts the ranks).
class MpiRuntime {
 public:
  /// Initialises MPI with errors returned, and tells the log who it is. Throws a usage error for one of several
  /// processes of a launcher that MPI sees as a lone rank (launch_contradiction): left alone, each would train by
  /// itself.
  MpiRuntime(int& argc, char**& argv);
  /// MPI_Finalize, in which MPI waits for the other ranks: after an error use abort_job() instead.
  ~MpiRuntime();
  MpiRuntime(const MpiRuntime&) = delete;
  MpiRuntime& operator=(const MpiRuntime&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// The rank among those of this node, which are those that give their node the same name (node()).
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }
  /// Ranks of the node that may use exactly the cores that this one may: all of them when the launcher does not bind,
  /// one when it gives each its own.
  int ranks_on_same_cores() const { return ranks_on_same_cores_; }
  /// Slurm's name of the node under srun (it may differ from the host's), else the host's.
  const std::string& node() const { return node_; }

 private:
  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
  int local_size_ = 1;
  int ranks_on_same_cores_ = 1;
  std::string node_;
};

/// Ends the job on all ranks: MPI_Abort, and if that should hang, _exit after ten seconds. Does not return.
[[noreturn]] void abort_job(int exit_code);

/// The main function of every MPI program: `return run_main(argc, argv, body);`. What `body` returns is the exit code.
/// An exception is told with rank and host (tell_failure, src/comm/failure.h), where that was not done nearer to it,
/// and ends the whole job with its exit code (70 unless it is an Error). mpiexec (MPICH's hydra) exits with the code
/// given to MPI_Abort. After a normal end it exits with the codes of all ranks combined by bitwise or, so `body` must
/// return the same on each. After _exit or a signal on one rank it exits with that rank's code or with 9, whichever
/// death it notices first. srun reports 137 after MPI_Abort (143 after _exit): under Slurm the cause is in the log, not
/// in the exit code.
int run_main(int argc, char** argv, const std::function<int(MpiRuntime&, int argc, char** argv)>& body);

/// Value of an environment variable, null when it is not set (getenv, or a test's own).
using EnvironmentReader = std::function<const char*(const char* name)>;

/// Why this process must not train by itself although MPI found no other rank, with what to do: a launcher that speaks
/// with another MPI's library (Open MPI's mpirun, a PMIx or PMI server, srun without the right --mpi) has started
/// several processes, each of which would be a run of its own. Empty where nothing says so. Variables of launchers are
/// read for this contradiction alone. Those of an allocation's shell (SLURM_NTASKS without a step) do not count, nor
/// does one rank that MPICH's launcher asked for (PMI_SIZE=1).
std::string launch_contradiction(int mpi_size, const EnvironmentReader& environment);

/// SLURMD_NODENAME in a step of srun itself, else `host`. Under mpiexec within an allocation (MPI_LOCALNRANKS is
/// hydra's) Slurm's variables can be those of another node.
std::string node_name(const std::string& host, const EnvironmentReader& environment);

/// The name of a node as ranks send it to each other, with zeros behind it. Linux and Slurm have names of at most 64
/// bytes.
using NodeName = std::array<char, 256>;

NodeName sendable(const std::string& name);

/// The first rank whose node has the same name as that of `rank`: a colour by which to split the ranks by node.
/// MPI_COMM_TYPE_SHARED does not serve. MPICH reads there what the launcher says of the placement of ranks, and where a
/// host file names a node several times in a row, once for each of its ranks, it takes each line for a node.
int first_rank_of_node(const std::vector<NodeName>& names, int rank);

}  // namespace octet
