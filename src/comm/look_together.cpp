#include "src/comm/look_together.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>

#include "src/base/read_file.h"
#include "src/comm/host_exchange.h"
#include "src/comm/read_together.h"

namespace octet::files {

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

void expect_same_files(const std::vector<std::string>& paths, Communicator& hosts) {
  std::vector<std::int32_t> there(paths.size());
  look_together(hosts, [&] {
    for (std::size_t i = 0; i < paths.size(); ++i) there[i] = is_there(paths[i]) ? 1 : 0;
  });
  largest(there.data(), static_cast<std::int64_t>(there.size()), hosts);
  look_together(hosts, [&] {
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (there[i] == 0) continue;
      if (!is_there(paths[i])) throw ReadError(paths[i], "is not there, where others see it");
      try_to_read(paths[i]);
    }
  });
}

}  // namespace octet::files
