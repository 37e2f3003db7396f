#include "src/comm/look_together.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "src/base/error.h"
#include "src/base/read_file.h"
#include "src/comm/control_exchange.h"
#include "src/comm/read_together.h"

namespace octet::files {
namespace {

/// False where nothing has that name. Looks and opens once: repeating is the caller's task.
bool can_be_read(const std::string& path) {
  try {
    try_to_read(path);
    return true;
  } catch (const ReadError& error) {
    if (error.error() == ENOENT || error.error() == ENOTDIR) return false;
    throw;
  }
}

/// Throws where a file was removed by somebody while it was looked at: then no rank has looked to the end.
void expect_looked(const std::optional<std::string>& absent) {
  if (absent)
    throw Error(ExitCode::usage, fmt::format("[files] {}; it went away while it was looked at", *absent), true);
}

}  // namespace

void look_together(Communicator& control, const std::function<void()>& look) {
  ReadProgress progress;
  expect_looked(read_together("look at the run's files", control, progress, [&] { with_retries(progress, look); }));
}

void look_by_first(Communicator& control, const std::function<void()>& look) {
  std::optional<ReadError> unread;
  try {
    ReadProgress progress;
    if (control.rank() == 0) with_retries(progress, look);
  } catch (const ReadError& error) {
    unread = error;
  }
  expect_looked(agree_on_reading(unread, control));
}

bool looks_for_node(Communicator& control) {
  return control.split_by_node("looks")->rank() == 0;
}

void expect_same_files(const std::vector<std::string>& paths, Communicator& control) {
  const bool looks = looks_for_node(control);
  std::vector<std::int32_t> mine(paths.size());
  look_together(control, [&] {
    for (std::size_t i = 0; looks && i < paths.size(); ++i) mine[i] = can_be_read(paths[i]) ? 1 : 0;
  });
  std::vector<std::int32_t> there = mine;
  largest(there.data(), static_cast<std::int64_t>(there.size()), control);
  look_together(control, [&] {
    for (std::size_t i = 0; looks && i < paths.size(); ++i) {
      // A host may see late what another one has made: it looks again.
      if (mine[i] == there[i] || can_be_read(paths[i])) continue;
      throw ReadError(paths[i], "is not there, where others see it");
    }
  });
}

}  // namespace octet::files
