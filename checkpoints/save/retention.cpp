#include "checkpoints/save/retention.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "checkpoints/format/durable.h"
#include "checkpoints/format/names.h"

namespace octet::checkpoint {

std::vector<std::int64_t> steps_to_prune(std::span<const std::int64_t> steps, std::int64_t verified, int keep_last,
                                         std::int64_t keep_every, const std::function<bool(std::int64_t)>& is_whole) {
  std::vector<std::int64_t> older;
  std::ranges::copy_if(steps, std::back_inserter(older), [&](std::int64_t s) { return s < verified; });
  std::ranges::sort(older);
  const auto may_go = [&](std::int64_t s) { return keep_every == 0 || s % keep_every != 0; };
  for (int whole = 1; whole < keep_last; older.pop_back()) {  // `verified` is the first
    // As many stay even where all are whole: only what may go beyond them is worth the reading.
    const auto stay = std::min(older.size(), static_cast<std::size_t>(keep_last - whole));
    const auto rest = std::span(older).first(older.size() - stay);
    if (std::ranges::none_of(rest, may_go)) return {};
    if (is_whole(older.back())) ++whole;
  }
  std::erase_if(older, [&](std::int64_t s) { return !may_go(s); });
  return older;
}

void remove_checkpoint(const std::string& root, std::int64_t step, const Owner& owner) {
  const std::string hidden = root + "/" + temporary_name(step, owner.name);
  owner.check();
  rename_durably(root + "/" + directory_name(step), hidden);
  remove_tree(hidden);
}

int remove_leftovers(const std::string& root, const Owner& owner) {
  std::vector<std::string> leftovers;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (is_leftover(name)) leftovers.push_back(entry.path().string());
  }
  if (!leftovers.empty()) owner.check();
  for (const std::string& path : leftovers) remove_tree(path);
  return static_cast<int>(leftovers.size());
}

}  // namespace octet::checkpoint
