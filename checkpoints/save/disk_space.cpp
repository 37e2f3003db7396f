#include "checkpoints/save/disk_space.h"

#include <algorithm>
#include <filesystem>

#include "checkpoints/format/durable.h"
#include "checkpoints/restore/restore.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/progress.h"

namespace octet::checkpoint {

namespace {

namespace fs = std::filesystem;

std::int64_t bytes_in(const fs::path& directory) {
  std::int64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator file(directory, error), end; !error && file != end; file.increment(error)) {
    std::error_code unknown;
    const auto size = file->file_size(unknown);
    if (!unknown) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

/// "; set aside as damaged ...: step-000040.damaged (76.9 MiB)", or nothing.
std::string damaged_there(const std::string& root) {
  std::string names;
  std::error_code error;
  for (fs::directory_iterator entry(root, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!is_set_aside(name)) continue;
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", name, format_bytes(bytes_in(entry->path())));
  }
  return names.empty() ? "" : "; set aside as damaged, and never removed by a run: " + names;
}

}  // namespace

bool has_room(const std::string& root, std::int64_t bytes, std::int64_t reserve) {
  try {
    return lack_of_space(root, free_bytes(root), bytes, 0, 0, reserve).empty();
  } catch (const Error&) {
    return true;
  }
}

void check_free_space(const std::string& root, std::int64_t bytes, std::int64_t reserve) {
  if (const std::string lack = lack_of_space(root, free_bytes(root), bytes, 0, 0, reserve); !lack.empty()) {
    throw internal_error("checkpoints", "{}; make room or keep fewer{} (docs/problems.md, \"The disk is full\")", lack,
                         damaged_there(root));
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
    if (!lack.empty())
      log::warning(
          "{}; make room, or let the run keep fewer, before a save fails{} (docs/problems.md, \"The disk is full\")",
          lack, damaged_there(root));
  } catch (const Error& error) {
    log::warning("{}", error.what());
  }
}

}  // namespace octet::checkpoint
