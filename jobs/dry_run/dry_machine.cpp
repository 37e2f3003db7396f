#include "jobs/dry_run/dry_machine.h"

#include <algorithm>

#include "jobs/run/fit.h"
#include "src/base/error.h"

namespace octet {
namespace {

/// Bytes a second of a link of so many Gb/s.
double bytes_of(double gbps) {
  return gbps * 1e9 / 8;
}

/// The run's device and what it is to be on have to agree.
void check_device(const RunConfig& config, const DryMachine& m) {
  if (m.cluster) return check_cluster_device(config, *m.cluster);
  if (!m.gpu || config.device == DeviceType::cuda) return;
  throw usage_error("config", "device = {}: --gpu {} is for runs on GPUs, expected --device cuda", config.device,
                    m.gpu->name);
}

/// Ranks that share a GPU are for tests, and say so (nccl.ranks_per_gpu).
void check_ranks(const RunConfig& config, const DryRunOptions& o, const DryMachine& m) {
  if (!m.cluster || m.cluster->gpus.per_node == 0 || config.nccl.ranks_per_gpu > 1) return;
  if (o.ranks_per_node <= m.cluster->gpus.per_node) return;
  throw usage_error("train", "--ranks-per-node {}: the nodes of {} have {} GPUs, expected no more ranks than that",
                    o.ranks_per_node, m.cluster->name, m.cluster->gpus.per_node);
}

}  // namespace

DryMachine machine_of(const DryRunOptions& o, const RunConfig& config) {
  DryMachine m;
  if (!o.cluster.empty()) {
    m.cluster = read_profile(o.cluster, o.overrides);
    m.ranks_on_node = static_cast<int>(m.cluster->ranks_per_node());
    m.network = bytes_of(static_cast<double>(m.cluster->nics.per_node * m.cluster->nics.gbps));
    m.latency = 2e-6 * m.cluster->network.latency_us + 5e-6;
    m.links = m.cluster->name;
    if (m.cluster->gpus.per_node > 0) m.gpu = gpu_sheet(m.cluster->gpus.type);
  }
  if (!o.gpu.empty()) {
    m.gpu = gpu_sheet(o.gpu);
    if (!m.gpu) throw usage_error("train", "--gpu {}: expected one of {}", o.gpu, known_gpus());
  }
  if (o.ranks_per_node > 0) m.ranks_on_node = static_cast<int>(o.ranks_per_node);
  if (!m.cluster) {
    m.network = bytes_of(400.0 * m.ranks_on_node);
    m.links = "400 Gb/s a GPU between nodes (--cluster knows better)";
  }
  check_device(config, m);
  check_ranks(config, o, m);
  return m;
}

std::string why_no_timeline(const DryMachine& m, std::int64_t ranks) {
  if (!m.gpu && m.cluster && m.cluster->gpus.per_node > 0) {
    return fmt::format("the GPUs of {} are called {}, which is none of {}", m.cluster->name, m.cluster->gpus.type,
                       known_gpus());
  }
  if (!m.gpu) return "name a GPU with --gpu, or a cluster of GPUs with --cluster";
  if (m.network == 0 && ranks > m.ranks_on_node) {
    return fmt::format("the profile {} does not say what its nodes send to each other (nics.per_node, nics.gbps)",
                       m.cluster->name);
  }
  return "";
}

MachineRates rates_of(const DryMachine& m) {
  return {.kernels = kernel_rates(*m.gpu),
          .ranks_on_node = m.ranks_on_node,
          .in_node = m.gpu->nvlink_bandwidth,
          .network = m.network,
          .latency = m.latency};
}

namespace {

/// Nothing is known to have a limit where neither a cluster nor a GPU is named.
Fit fit_on(const MemoryPlan& plan, const DryMachine& m, int ranks_on_node) {
  if (m.cluster) return fit_of(plan, *m.cluster, ranks_on_node);
  return m.gpu ? fit_of(plan, *m.gpu) : Fit();
}

}  // namespace

bool fits_gpu(const MemoryPlan& plan, const DryMachine& m) {
  return fit_on(plan, m, m.ranks_on_node).gpu_fits();
}

std::string fit_text(const MemoryPlan& plan, const DryMachine& m, std::int64_t ranks) {
  const auto line = [](double needs, double has, std::string_view of, bool fits) {
    return fmt::format("  {:.1f} of {:.1f} GiB of one {}: {}\n", needs, has, of, fits ? "fits" : "does NOT fit");
  };
  const Fit fit = fit_on(plan, m, static_cast<int>(std::min<std::int64_t>(ranks, m.ranks_on_node)));
  const std::string_view gpu = m.cluster ? m.cluster->gpus.type : m.gpu ? m.gpu->name : "";
  std::string text;
  if (fit.of_gpu > 0) text += line(fit.gpu, fit.of_gpu, gpu, fit.gpu_fits());
  if (fit.of_node > 0) text += line(fit.node, fit.of_node, "node", fit.node_fits());
  return text;
}

}  // namespace octet
