#include "checkpoints/retention.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "checkpoints/durable.h"
#include "checkpoints/format.h"

namespace octet::checkpoint {

std::vector<std::int64_t> steps_to_prune(std::span<const std::int64_t> steps, std::int64_t verified, int keep_last,
                                         std::int64_t keep_every) {
  std::vector<std::int64_t> candidates;
  std::ranges::copy_if(steps, std::back_inserter(candidates), [&](std::int64_t s) { return s < verified; });
  std::ranges::sort(candidates);
  const auto others_kept = static_cast<std::size_t>(std::max(keep_last, 1) - 1);  // beside `verified`
  candidates.resize(candidates.size() - std::min(candidates.size(), others_kept));
  if (keep_every > 0) std::erase_if(candidates, [&](std::int64_t s) { return s % keep_every == 0; });
  return candidates;
}

void remove_checkpoint(const std::string& root, std::int64_t step) {
  const std::string hidden = root + "/" + temporary_name(step);
  rename_durably(root + "/" + directory_name(step), hidden);
  remove_tree(hidden);
}

int remove_leftovers(const std::string& root) {
  std::vector<std::string> leftovers;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("step-") && name.ends_with(".tmp")) leftovers.push_back(entry.path().string());
  }
  for (const std::string& path : leftovers) remove_tree(path);
  return static_cast<int>(leftovers.size());
}

}  // namespace octet::checkpoint
