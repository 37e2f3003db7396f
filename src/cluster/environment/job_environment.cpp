#include "src/cluster/environment/job_environment.h"

#include <algorithm>

#include "src/base/environment.h"
#include "src/base/options/text.h"

namespace octet {
namespace {

using Values = std::vector<EnvironmentValue>;

void add_verbs(const NicProfile& nics, Values& out) {
  out.push_back({"NCCL_NET", "IB", "without the fabric's devices the job ends, instead of training over TCP sockets"});
  out.push_back({"NCCL_NET_PLUGIN", "none", "no network plugin that happens to lie on the library path"});
  if (!nics.hca.empty()) {
    out.push_back({"NCCL_IB_HCA", fmt::format("={}", joined(nics.hca, ",")),
                   "these devices alone; without the = a name would match all that begin with it"});
  }
  if (nics.traffic_class >= 0) {
    out.push_back({"NCCL_IB_TC", std::to_string(nics.traffic_class), "the fabric's lossless class"});
  }
}

void add_roce(Values& out) {
  out.push_back({"NCCL_IB_QPS_PER_CONNECTION", "16",
                 "paths are chosen by a hash of queue pairs: with one a connection two flows can share a link",
                 "2.30"});
  out.push_back(
      {"NCCL_IB_TIMEOUT", "22", "a congested path is waited for (17 s a try) before a queue pair fails", "2.30"});
}

void add_efa(Values& out) {
  out.push_back({"NCCL_NET", "AWS Libfabric", "without the plugin the job ends, instead of training over TCP sockets"});
  out.push_back({"FI_PROVIDER", "efa", "libfabric takes EFA and no other provider"});
}

void add_fabric(const ClusterProfile& p, Values& out) {
  switch (p.fabric) {
    case Fabric::roce:
      add_verbs(p.nics, out);
      add_roce(out);
      break;
    case Fabric::infiniband:
    case Fabric::custom:
      add_verbs(p.nics, out);
      break;
    case Fabric::efa:
      add_efa(out);
      break;
    case Fabric::ethernet:
      out.push_back({"NCCL_NET", "Socket", "there is no other network"});
      break;
    case Fabric::none:
      break;
  }
}

void add_gpus(const ClusterProfile& p, Values& out) {
  add_fabric(p, out);
  if (!p.nics.frontend.empty()) {
    out.push_back(
        {"NCCL_SOCKET_IFNAME", fmt::format("={}", p.nics.frontend), "NCCL's bootstrap on the ordinary network"});
  }
  out.push_back({"NCCL_DEBUG", "WARN", "what NCCL complains of is in the job's log"});
}

bool started_by(const ClusterProfile& p, ContainerRuntime runtime) {
  return !p.container.image.empty() && p.container.runtime == runtime;
}

/// Under pyxis enroot passes in what these say, where the image does not say it.
void add_enroot(Values& out) {
  out.push_back({"NVIDIA_VISIBLE_DEVICES", "all", "without it enroot leaves the GPUs outside of the container"});
  out.push_back({"NVIDIA_DRIVER_CAPABILITIES", "compute,utility", "without it enroot passes in nvidia-smi alone"});
}

/// UCX, below MPI. A container that is started for each rank can have a user namespace a rank, as apptainer's has; the
/// ranks of a node share one of pyxis.
void add_mpi(const ClusterProfile& p, Values& out) {
  const bool apart = started_by(p, ContainerRuntime::apptainer) || !p.software.container.empty();
  if (apart) {
    out.push_back({"UCX_TLS", "tcp,self",
                   "MPI only introduces the ranks: it stays off the GPUs, the fabric, and shared memory, which UCX "
                   "before 1.16 cannot open in another rank's container"});
  } else if (p.fabric != Fabric::none) {
    out.push_back({"UCX_TLS", "tcp,self,sm", "MPI only introduces the ranks: it stays off the GPUs and the fabric"});
  }
  if (p.fabric != Fabric::none && !p.nics.frontend.empty()) {
    out.push_back({"UCX_NET_DEVICES", p.nics.frontend, "MPI on the ordinary network"});
  }
}

}  // namespace

std::vector<EnvironmentValue> generated_environment(const ClusterProfile& p, const std::string& run_dir) {
  Values out;
  if (p.gpus.per_node > 0) add_gpus(p, out);
  if (p.gpus.per_node > 0 && started_by(p, ContainerRuntime::pyxis)) add_enroot(out);
  add_mpi(p, out);
  if (const FileSystem* f = p.file_system_of(run_dir); f != nullptr && !f->locks) {
    out.push_back({"HDF5_USE_FILE_LOCKING", "FALSE", fmt::format("{} has no flock, which h5py asks for", f->path)});
  }
  return out;
}

std::vector<EnvironmentValue> job_environment(const ClusterProfile& p, const std::string& run_dir) {
  Values out = p.environment.generate ? generated_environment(p, run_dir) : Values{};
  for (const EnvironmentValue& v : p.environment.variables) {
    const auto same = std::ranges::find(out, v.name, &EnvironmentValue::name);
    same == out.end() ? out.push_back(v) : void(*same = v);
  }
  std::erase_if(out, [](const EnvironmentValue& v) { return v.unset; });
  return out;
}

std::string value_in_job(const ClusterProfile& profile, const std::vector<EnvironmentValue>& environment,
                         const std::string& name) {
  const auto own = std::ranges::find(environment, name, &EnvironmentValue::name);
  if (own != environment.end()) return own->value;
  const std::vector<std::string> unset = unset_variables(profile);
  return std::ranges::count(unset, name) > 0 ? "" : environment_variable(name.c_str());
}

std::vector<std::string> unset_variables(const ClusterProfile& p) {
  std::vector<std::string> out;
  for (const EnvironmentValue& v : p.environment.variables) {
    if (v.unset) out.push_back(v.name);
  }
  return out;
}

}  // namespace octet
