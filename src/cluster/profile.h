#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/options/schema.h"
#include "src/cluster/core_binding.h"
#include "src/cluster/profile_words.h"

namespace octet {

/// What carries traffic between nodes. `none`: all nodes are one machine. `custom`: verbs over a network of the site's
/// own, for which nothing is generated that its profile does not say.
enum class Fabric { none, ethernet, infiniband, roce, efa, custom };
constexpr auto names_of(Fabric) {
  return std::to_array<std::string_view>({"none", "ethernet", "infiniband", "roce", "efa", "custom"});
}

/// How sbatch is asked for GPUs: --gpus-per-node, --gres=gpu:N, not at all.
enum class GpuRequest { gpus, gres, none };
constexpr auto names_of(GpuRequest) {
  return std::to_array<std::string_view>({"gpus", "gres", "none"});
}

/// What Slurm knows of the network (topology/tree, topology/block).
enum class TopologyKind { none, tree, block };
constexpr auto names_of(TopologyKind) {
  return std::to_array<std::string_view>({"none", "tree", "block"});
}

/// The order in which a job's hosts get their ranks: leaf by leaf, or as Slurm lists them.
enum class HostOrder { topology, slurm };
constexpr auto names_of(HostOrder) {
  return std::to_array<std::string_view>({"topology", "slurm"});
}

/// What starts programs in a container: pyxis, a plugin of srun, or Apptainer (Singularity), a program.
enum class ContainerRuntime { apptainer, pyxis };
constexpr auto names_of(ContainerRuntime) {
  return std::to_array<std::string_view>({"apptainer", "pyxis"});
}

struct NodeProfile {
  std::int64_t count = 0;       ///< most nodes of a job, with spares; 0: no limit
  std::int64_t memory_gib = 0;  ///< of one
};

struct GpuProfile {
  std::int64_t per_node = 0;
  std::string type;         ///< for readers, and for the rates of a dry run (src/metrics/peak.h)
  double memory_gib = 0;    ///< of one
  double reserved_gib = 2;  ///< of it, for the driver's context and libraries but NCCL
  GpuRequest request = GpuRequest::gpus;
  std::string slurm_type;  ///< Slurm's name of the type that is asked for (gres.conf); empty for any
};

struct NicProfile {
  std::int64_t per_node = 0;
  std::int64_t gbps = 0;         ///< Gb/s of one
  std::vector<std::string> hca;  ///< names of the devices that NCCL may use; empty: all
  std::string frontend;          ///< interface of the ordinary network, for NCCL's bootstrap and for MPI
  std::int64_t traffic_class = -1;
};

/// The switches behind the cards: leaves that nodes hang on, pods of leaves, and what is thin above each.
struct NetworkProfile {
  bool rails = false;           ///< cards of equal index of a leaf group's nodes share a leaf, each index its own
  std::int64_t leaf_nodes = 0;  ///< nodes on the same leaf (with rails: leaves); 0: unknown
  double oversubscription = 1;  ///< of a leaf: rate down to cards over rate up
  std::int64_t pod_nodes = 0;   ///< 0: there are no pods, or one
  double pod_oversubscription = 1;
  double latency_us = 2;  ///< one way between cards of two leaves
};

struct CpuProfile {
  std::int64_t cores = 0;  ///< of a node
  std::int64_t threads_per_core = 1;
  CoreBinding bind = CoreBinding::automatic;
};

struct SlurmProfile {
  std::string partition, account, qos, constraint, reservation;  ///< empty: not given to sbatch
  std::string mail_user, mail_type;                              ///< the same
  std::string time = "24:00:00";
  bool exclusive = true;
  TopologyKind topology = TopologyKind::none;
  std::int64_t leaf_nodes = 0;  ///< nodes of a leaf or block; 0: unknown
  std::int64_t switch_wait_minutes = 0;
  std::vector<std::string> options;  ///< further lines of #SBATCH
};

struct LauncherProfile {
  std::string mpi = "pmi2";         ///< srun --mpi
  std::int64_t ranks_per_node = 0;  ///< 0: a rank a GPU
  HostOrder rank_order = HostOrder::topology;
  std::int64_t min_lead_seconds = 300;
  std::int64_t max_restarts = 3;
  bool preflight = true;
  std::vector<std::string> srun_options;  ///< further options of the ranks' srun
};

struct FileSystem {
  std::string path;  ///< absolute; what lies below is on it
  std::string kind;  ///< lustre, gpfs, nfs, local, ...
  std::string advice;
  bool locks = true;  ///< flock works there; preparing data asks for it, and h5py
};

struct SoftwareProfile {
  std::vector<std::string> modules;
  std::vector<std::string> container;  ///< words before octet-train alone; empty: none
  std::string container_program = "octet-train";
};

/// The container that has octet and octet-train.
struct ContainerProfile {
  std::string image;  ///< empty: none
  ContainerRuntime runtime = ContainerRuntime::apptainer;
  std::vector<std::string> mounts;   ///< "SOURCE:TARGET[:FLAGS]", beside what a job needs
  std::string workdir;               ///< empty: the job's
  std::string programs;              ///< folder of octet and octet-train in it; empty: they are on its PATH
  std::vector<std::string> options;  ///< further words of apptainer exec, or --container-... of pyxis' srun
};

/// An environment variable of the job.
struct EnvironmentValue {
  std::string name, value, reason;
  std::string review{};  ///< release of NCCL from which the reason may no longer hold; empty: it does not end
  bool unset = false;    ///< the job has no such variable; `value` is empty
};

struct EnvironmentProfile {
  bool generate = true;
  std::vector<EnvironmentValue> variables;
};

/// A cluster as configs/clusters/NAME.yaml describes it. Sizes are GiB (2^30 bytes), rates Gb/s (10^9 bits a second).
struct ClusterProfile {
  std::string name;  ///< by which messages call it: of the file, without its extension, unless the file says one
  std::string description;
  Fabric fabric = Fabric::none;
  NodeProfile nodes;
  GpuProfile gpus;
  NicProfile nics;
  NetworkProfile network;
  CpuProfile cpu;
  SlurmProfile slurm;
  LauncherProfile launcher;
  std::vector<FileSystem> file_systems;
  SoftwareProfile software;
  ContainerProfile container;
  EnvironmentProfile environment;

  std::int64_t ranks_per_node() const;
  /// CPUs as Slurm counts them: hardware threads.
  std::int64_t cpus_per_rank() const;
  /// The file system with the longest path that holds this absolute path; null where the profile names none.
  const FileSystem* file_system_of(const std::string& path) const;
};

/// Every key of a profile, bound to the fields of `profile`, whose values are the defaults.
void declare_profile(Schema& schema, ClusterProfile& profile);

/// Throws a usage error that names file, line and key for combinations that no cluster could have, of all parts at
/// once.
void validate(const ClusterProfile& profile, const Origins& origins);

/// Reads and validates a profile. `cluster` is a name under configs/clusters (installation.h) or the path of a YAML
/// file; `overrides` are pairs of key and text, as from a command line. Usage errors name file, line and key with the
/// nearest known key, and list the clusters where the name is unknown. `leaf_nodes`, as found elsewhere, stands in for
/// network.leaf_nodes where the profile does not know it.
ClusterProfile read_profile(const std::string& cluster, const ProfileOverrides& overrides = {},
                            std::int64_t leaf_nodes = 0);

/// The whole profile as YAML text, which reads back to the same profile.
std::string to_yaml(ClusterProfile profile);

/// docs/clusters.md.
std::string profile_reference_page();

}  // namespace octet
