#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// Where a rank of a job runs, with ranks placed node by node (Slurm's --distribution=block).
struct TaskPlace {
  std::int64_t node = 0;   ///< index in the job's list of hosts
  std::int64_t local = 0;  ///< rank on that node
};

/// Tasks of each node from SLURM_TASKS_PER_NODE, such as "8(x16)" or "8(x3),4". Usage error with text and place for
/// what is no such list, a node without tasks, and more than most_hosts nodes (host_list.h).
std::vector<std::int64_t> expand_tasks(std::string_view layout);

/// The shortest such text.
std::string compress_tasks(const std::vector<std::int64_t>& tasks);

std::int64_t total_tasks(const std::vector<std::int64_t>& tasks);

/// Usage error unless 0 <= rank < total_tasks.
TaskPlace place_of(std::int64_t rank, const std::vector<std::int64_t>& tasks);

}  // namespace octet
