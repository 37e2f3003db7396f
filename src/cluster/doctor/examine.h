#pragma once

#include <optional>
#include <string>

#include "src/cluster/machine/finding.h"
#include "src/cluster/machine/machine.h"
#include "src/cluster/profile.h"

namespace octet {

/// What a check looks at. Checks change nothing, take seconds, and may run at the same time on several threads.
struct Examination {
  const Machine& machine;
  const ClusterProfile* profile = nullptr;  ///< what the machine should be; null: nobody says
  std::string run_dir;                      ///< absolute; its file system is checked

  /// Says whether the profile has GPUs, or cards for traffic between nodes.
  bool expects_gpus() const { return profile != nullptr && profile->gpus.per_node > 0; }
  bool expects_cards() const { return profile != nullptr && profile->nics.per_node > 0; }
  /// Says whether these cards are devices in /sys/class/infiniband: all but those of a custom fabric whose profile
  /// names none and whose job takes sockets or the network of a plugin, of which Octet knows nothing.
  bool expects_devices() const;
  /// Says whether these devices are used through verbs: InfiniBand, RoCE and a site's own network.
  bool expects_verbs() const;
  /// What a variable is in the profile's job; nothing where the job has no such variable.
  std::optional<std::string> job_value(const std::string& name) const;
};

/// gpu.count, gpu.memory, gpu.mig, gpu.ecc, gpu.remapped_rows, gpu.clocks, gpu.fabric; asks nvidia-smi.
Findings check_gpus(const Examination& e);
/// gpu.xid: errors that the driver wrote into the kernel's log; actions as NVIDIA's Xid catalog has them
/// (docs.nvidia.com/deploy/xid-errors).
Findings check_xids(const Examination& e);
/// gpu.nvlink: links of each GPU that are up.
Findings check_nvlinks(const Examination& e);
/// hca.count, hca.state, hca.link_layer, hca.rate, hca.errors, from /sys/class/infiniband. Error counters are read
/// twice, a second apart.
Findings check_hcas(const Examination& e);
/// hca.retransmissions: what the cards of RoCE have sent again or dropped since they were reset, against the packets
/// that they received, or else the time since the node was booted.
Findings check_retransmissions(const Examination& e);
/// nccl.files: whether the files that NCCL's variables name, of this process' environment and of the profile's job, can
/// be read (environment/named_files.h); no finding where no variable names one.
Findings check_nccl_files(const Examination& e);
/// net.frontend: whether the interfaces of nics.frontend are there and up, from /sys/class/net; where the profile names
/// none, whether a bridge is up, over which MPI could look for other nodes.
Findings check_frontend(const Examination& e);
/// hca.link: the physical link of each card and its subnet manager; asks ibstat.
Findings check_hca_links(const Examination& e);
/// pci.acs, pci.gpu_direct: whether GPU and card exchange data without a detour (docs.nvidia.com, NCCL, GPU
/// troubleshooting).
Findings check_pci(const Examination& e);
/// versions.driver, versions.cuda, versions.nccl, against configs/known-bad.yaml.
Findings check_versions(const Examination& e);
/// limits.locked_memory, limits.stack, limits.open_files, limits.shared_memory.
Findings check_limits(const Examination& e);
/// memory.size, cpu.cores as the profile has them, memory.huge_pages.
Findings check_host(const Examination& e);
/// cpu.near_devices, hca.near_gpus: whether this process has CPUs, and the node cards, on every NUMA node that has
/// GPUs.
Findings check_near(const Examination& e);
/// clock: whether it is kept by a time server.
Findings check_clock(const Examination& e);
/// launch.mpi: how srun starts MPI programs.
Findings check_launch(const Examination& e);
/// storage.space, storage.locks of the run directory.
Findings check_storage(const Examination& e);

/// All of these, at the same time, in this order.
Findings examine(const Examination& e);

}  // namespace octet
