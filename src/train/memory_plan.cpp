#include "src/train/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "src/parallel/fsdp_gradients.h"
#include "src/parallel/fsdp_weights.h"

namespace octet {
namespace {

std::string mebibytes(std::int64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / 0x1p20);
}

/// Largest unit being reduced, twice when a tied embedding stays open through the whole backward pass.
std::int64_t unreduced_gradient_bytes(const ParameterList& list, int shards, bool tied) {
  const std::vector<std::int64_t> units = FsdpGradients::unit_bytes(list, shards);
  const std::int64_t others = *std::max_element(units.begin() + (tied ? 1 : 0), units.end());
  const std::int64_t pooled = *std::max_element(units.begin(), units.end());
  return tied ? units.front() + others : std::max(others, pooled);
}

}  // namespace

std::int64_t MemoryPlan::total() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

MemoryPlan plan_memory(const LlamaSettings& s, int shards, bool reshard, Stream& stream) {
  const ParameterList list = llama_parameters(s.model, s.precision, s.float8);
  const ShardLayout layout(list, 0, shards);
  const Llama::MemoryNeeds needs = Llama::plan(s, stream);
  const std::vector<std::int64_t> units = FsdpWeights::unit_bytes(list, shards);
  MemoryPlan plan;
  plan[Purpose::parameters] = layout.bytes();
  plan[Purpose::gradients] = layout.bytes() + unreduced_gradient_bytes(list, shards, s.model.tied_embedding);
  plan[Purpose::optimizer] = 2 * layout.bytes();
  plan[Purpose::gathered] = peak_gathered_bytes(Llama::pass_order(s.model, true), units, reshard);
  plan[Purpose::activations] = needs.activations;
  plan[Purpose::workspace] = needs.scratch + s.seq_len * s.model.head_dim * 4;  // and the RoPE tables
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
  return table + row("total", plan.total(), measured == nullptr ? 0 : measured->total().peak);
}

void check_fits(const MemoryPlan& plan, Device& device, int ranks_on_device) {
  const std::int64_t needed = plan.total() * ranks_on_device;
  if (needed <= device.memory_bytes()) return;
  throw usage_error("train",
                    "this run needs {} MiB on {} ({} rank(s) of {} MiB) and the device has {} MiB; use more ranks, a "
                    "smaller train.micro_batch or train.seq_len\n{}",
                    mebibytes(needed), device.name(), ranks_on_device, mebibytes(plan.total()),
                    mebibytes(device.memory_bytes()), memory_table(plan, nullptr));
}

}  // namespace octet
