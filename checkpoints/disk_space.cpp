#include "checkpoints/disk_space.h"

#include <algorithm>

#include "checkpoints/durable.h"
#include "checkpoints/restore.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/progress.h"

namespace octet::checkpoint {

void check_free_space(const std::string& root, std::int64_t bytes, std::int64_t reserve) {
  if (const std::string lack = lack_of_space(root, free_bytes(root), bytes, 0, 0, reserve); !lack.empty()) {
    throw internal_error("checkpoints", "{}; make room or keep fewer", lack);
  }
}

std::string lack_of_space(const std::string& root, std::int64_t free, std::int64_t bytes, std::int64_t keep,
                          std::int64_t there, std::int64_t reserve) {
  const std::int64_t each = bytes + bytes / 100,
                     fit = std::max<std::int64_t>(0, free - reserve) / std::max<std::int64_t>(1, each);
  if (fit < 1) {
    return fmt::format("{}: {} free, but a checkpoint of {} needs {} there{}", root, format_bytes(free),
                       format_bytes(bytes), format_bytes(each + reserve),
                       reserve == 0 ? "" : fmt::format(", {} of them for logs and metrics", format_bytes(reserve)));
  }
  if (fit >= keep + 1 - there) return "";
  return fmt::format(
      "{}: {} free, room for {} more of {}, but checkpoint.keep {} takes {} while one is written ({} there now)", root,
      format_bytes(free), fit, format_bytes(bytes), keep, keep + 1, there);
}

std::int64_t count_prunable(const std::string& root, std::int64_t keep_every) {
  return std::ranges::count_if(list_checkpoints(root), [&](const std::string& path) {
    return keep_every == 0 || *step_of(path) % keep_every != 0;
  });
}

void warn_of_lack_of_space(const std::string& root, std::int64_t bytes, int keep_last, std::int64_t keep_every) {
  try {
    const std::string lack = lack_of_space(root, free_bytes(root), bytes, keep_last, count_prunable(root, keep_every));
    if (!lack.empty()) log::warning("{}; make room, or let the run keep fewer, before a save fails", lack);
  } catch (const Error& error) {
    log::warning("{}", error.what());
  }
}

}  // namespace octet::checkpoint
