#include "src/comm/look_together.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>

#include "src/base/read_file.h"
#include "src/comm/host_exchange.h"
#include "src/comm/read_together.h"

namespace octet::files {
namespace {

/// False where nothing has that name; by one look, and one opening.
bool can_be_read(const std::string& path) {
  try {
    try_to_read(path);
    return true;
  } catch (const ReadError& error) {
    if (error.error() == ENOENT || error.error() == ENOTDIR) return false;
    throw;
  }
}

}  // namespace

bool is_there(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::status_known(status)) return std::filesystem::exists(status);
  throw ReadError(path, error.value());
}

void look_together(Communicator& hosts, const std::function<void()>& look) {
  ReadProgress progress;
  read_together("look at the run's files", hosts, progress, [&] { with_retries(progress, look); });
}

void look_by_first(Communicator& hosts, const std::function<void()>& look) {
  std::optional<ReadError> unread;
  try {
    ReadProgress progress;
    if (hosts.rank() == 0) with_retries(progress, look);
  } catch (const ReadError& error) {
    unread = error;
  }
  agree_on_reading(unread, hosts);
}

bool looks_for_node(Communicator& hosts) {
  return hosts.split_by_node("looks")->rank() == 0;
}

void expect_same_files(const std::vector<std::string>& paths, Communicator& hosts) {
  const bool looks = looks_for_node(hosts);
  std::vector<std::int32_t> mine(paths.size());
  look_together(hosts, [&] {
    for (std::size_t i = 0; looks && i < paths.size(); ++i) mine[i] = can_be_read(paths[i]) ? 1 : 0;
  });
  std::vector<std::int32_t> there = mine;
  largest(there.data(), static_cast<std::int64_t>(there.size()), hosts);
  look_together(hosts, [&] {
    for (std::size_t i = 0; looks && i < paths.size(); ++i) {
      // A host may see late what another one has made: it looks again.
      if (mine[i] == there[i] || can_be_read(paths[i])) continue;
      throw ReadError(paths[i], "is not there, where others see it");
    }
  });
}

}  // namespace octet::files
