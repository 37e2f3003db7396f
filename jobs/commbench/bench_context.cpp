#include "jobs/commbench/bench_context.h"

#include <algorithm>
#include <set>

#include "src/base/progress.h"

namespace octet::commbench {

int Context::nodes(const std::vector<int>& ranks) const {
  std::set<std::string> names;
  for (const int rank : ranks) names.insert(node_of.at(static_cast<std::size_t>(rank)));
  return static_cast<int>(names.size());
}

void Context::progress(const std::string& text) const {
  static StatusLine line;
  if (control.rank() == 0) line.show(text);
}

void check_memory(const Context& context, Device& device, std::int64_t bytes, const std::string& what) {
  const std::string& mine = context.node_of.at(static_cast<std::size_t>(context.control.rank()));
  const auto on_node = std::ranges::count(context.node_of, mine);
  const std::int64_t sharing = device.type() == DeviceType::cpu ? on_node : context.options.nccl.ranks_per_gpu;
  if (bytes * sharing <= device.available_bytes()) return;
  throw usage_error("commbench", "{}: {} rank(s) take {} each, and {} has {}", what, sharing, format_bytes(bytes),
                    device.name(), format_bytes(device.available_bytes()));
}

}  // namespace octet::commbench
