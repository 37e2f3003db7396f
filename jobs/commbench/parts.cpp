#include "jobs/commbench/parts.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>

#include "src/base/log.h"
#include "src/base/progress.h"

namespace octet::commbench {

int Context::nodes(const std::vector<int>& ranks) const {
  std::set<std::string> names;
  for (const int rank : ranks) names.insert(node_of.at(static_cast<std::size_t>(rank)));
  return static_cast<int>(names.size());
}

void Context::progress(const std::string& text) const {
  using Clock = std::chrono::steady_clock;
  static Clock::time_point shown = Clock::now();
  if (hosts.rank() != 0) return;
  if (isatty(STDERR_FILENO) != 0) {
    fmt::print(stderr, "\r\x1b[K{}", text);
    std::fflush(stderr);
  } else if (!text.empty() && Clock::now() - shown > std::chrono::seconds(10)) {
    log::info("{}", text);
    shown = Clock::now();
  }
}

void check_memory(const Context& context, Device& device, std::int64_t bytes, const std::string& what) {
  const std::string& mine = context.node_of.at(static_cast<std::size_t>(context.hosts.rank()));
  const auto on_node = std::ranges::count(context.node_of, mine);
  const std::int64_t sharing = device.type() == DeviceType::cpu ? on_node : context.options.nccl.ranks_per_gpu;
  if (bytes * sharing <= device.available_bytes()) return;
  throw usage_error("commbench", "{}: {} rank(s) take {} each, and {} has {}", what, sharing, format_bytes(bytes),
                    device.name(), format_bytes(device.available_bytes()));
}

}  // namespace octet::commbench
