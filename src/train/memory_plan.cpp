#include "src/train/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "src/model/tensors.h"
#include "src/parallel/fsdp_gradients.h"
#include "src/parallel/gradient_norm.h"

namespace octet {
namespace {

std::string mebibytes(std::int64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / 0x1p20);
}

/// Where memory is kept: of each size of a unit one buffer, and with overlap one more where several units have it.
std::int64_t kept_gradient_bytes(const std::vector<std::int64_t>& units, bool overlap) {
  std::map<std::int64_t, int> sizes;
  for (const std::int64_t bytes : units) ++sizes[bytes];
  std::int64_t all = 0;
  for (const auto& [bytes, count] : sizes) all += bytes * (overlap && count > 1 ? 2 : 1);
  return all;
}

/// Largest unit on its way to the shards, what its exchange takes beside it, and a tied embedding, which stays open
/// through the whole backward pass.
std::int64_t unreduced_gradient_bytes(const ParameterList& list, const PlanInput& in) {
  const std::vector<std::int64_t> units = FsdpGradients::unit_bytes(list, in.mesh.dp_shard, in.fsdp);
  const bool tied = in.settings.model.tied_embedding;
  const std::int64_t largest = *std::max_element(units.begin(), units.end());
  const std::int64_t exchange = FsdpGradients::exchange_bytes(units, in.mesh.dp_shard, in.fsdp.gradient_wire,
                                                              in.micro_batches, in.fsdp.overlap && !in.buffers_kept);
  if (in.buffers_kept) return kept_gradient_bytes(units, in.fsdp.overlap) + exchange;
  const std::int64_t beside = tied ? units.front() + *std::max_element(units.begin() + 1, units.end()) : largest;
  return beside + exchange;
}

std::int64_t gathered_bytes(const ParameterList& list, const PlanInput& in) {
  const std::vector<std::int64_t> units = FsdpWeights::unit_bytes(list, in.mesh.dp_shard, in.fsdp);
  const std::vector<std::int64_t> high = FsdpWeights::cast_after_bytes(list, in.mesh.dp_shard, in.fsdp);
  return peak_gathered_bytes(Llama::pass_order(in.settings.model, true), units, in.fsdp.reshard_after_forward,
                             in.buffers_kept) +
         *std::max_element(high.begin(), high.end()) + FsdpWeights::staging_bytes(list, in.mesh.dp_shard, in.fsdp);
}

/// Norms, counters, scalars: small, but counted.
std::int64_t bookkeeping_bytes(const ParameterList& list, const KernelTable& kernels) {
  const auto parameters = static_cast<std::int64_t>(list.parameters.size());
  return 4 * (static_cast<std::int64_t>(list.units.size()) * checked_tensors + 2 * parameters + 16) +
         GradientNorm::workspace_bytes(list, kernels);
}

}  // namespace

std::int64_t MemoryPlan::total() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

MemoryPlan plan_memory(const PlanInput& in, Stream& stream) {
  const LlamaSettings& s = in.settings;
  const ParameterList list = llama_parameters(s.model, s.precision, s.float8, s.tp);
  const ShardLayout layout(list, 0, in.mesh.dp_shard);
  const Llama::MemoryNeeds needs = Llama::plan(s, stream);
  MemoryPlan plan;
  const auto scaling = make_scaling(s.precision, s.float8, cast_counts(s.model, list), nullptr);
  plan[Purpose::parameters] = layout.bytes() + (scaling->bytes() > 0 ? scaling->bytes() : WeightScales::bytes(list));
  plan[Purpose::gradients] = layout.bytes() + unreduced_gradient_bytes(list, in);
  plan[Purpose::optimizer] = 2 * layout.bytes();
  plan[Purpose::gathered] = gathered_bytes(list, in);
  plan[Purpose::activations] = needs.activations + needs.recomputed;
  plan[Purpose::workspace] = needs.scratch + s.seq_len * s.model.head_dim * 4 +  // RoPE table
                             bookkeeping_bytes(list, kernels_of(stream));
  plan[Purpose::communication] = in.communication.scratch;
  plan.nccl = in.communication.nccl;
  plan.host = in.host;
  plan[Purpose::data] = 2 * s.micro_batch * s.seq_len * 4;
  return plan;
}

std::string memory_table(const MemoryPlan& plan, const MemoryLedger* measured) {
  const auto row = [&](std::string_view name, std::int64_t planned, std::int64_t peak) {
    return measured == nullptr ? fmt::format("  {:<17} {:>12}\n", name, mebibytes(planned))
                               : fmt::format("  {:<17} {:>12} {:>12}\n", name, mebibytes(planned), mebibytes(peak));
  };
  std::string table = measured == nullptr ? fmt::format("  {:<17} {:>12}\n", "MiB a rank", "planned")
                                          : fmt::format("  {:<17} {:>12} {:>12}\n", "MiB a rank", "planned", "peak");
  for (int p = 0; p < static_cast<int>(Purpose::count); ++p) {
    const auto purpose = static_cast<Purpose>(p);
    table += row(name_of(purpose), plan[purpose], measured == nullptr ? 0 : measured->usage(purpose).peak);
  }
  table += row("total", plan.total(), measured == nullptr ? 0 : measured->total().peak);
  const auto beside = [&](std::string_view name, std::int64_t planned) {
    table += fmt::format("  {:<17} {:>12}\n", name, mebibytes(planned));
  };
  if (plan.nccl > 0) beside("NCCL, estimated", plan.nccl);
  beside("host, checkpoints", plan.host);
  return table;
}

void check_fits(const MemoryPlan& plan, Device& device, int ranks_on_node, int ranks_on_gpu) {
  const auto check = [&](Device& on, int ranks, std::int64_t bytes) {
    if (bytes * ranks <= on.available_bytes()) return;
    throw usage_error("train",
                      "this run needs {} MiB on {} ({} rank(s) of {} MiB) and the device has {} MiB free; use more "
                      "ranks, a smaller train.micro_batch or train.seq_len\n{}",
                      mebibytes(bytes * ranks), on.name(), ranks, mebibytes(bytes), mebibytes(on.available_bytes()),
                      memory_table(plan, nullptr));
  };
  if (device.type() == DeviceType::cpu) return check(device, ranks_on_node, plan.total() + plan.host);
  check(device, ranks_on_gpu, plan.total() + plan.nccl);
  check(cpu_device(), ranks_on_node, plan.host);
}

}  // namespace octet
