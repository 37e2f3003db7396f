#include "src/train/plan/memory_plan.h"

#include <fmt/format.h>

#include <numeric>

#include "src/base/error.h"

namespace octet {
namespace {

std::string mebibytes(std::int64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / 0x1p20);
}

}  // namespace

std::int64_t MemoryPlan::total() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
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
