#include "checkpoints/agreement.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <system_error>

#include "checkpoints/packing.h"
#include "checkpoints/read_together.h"
#include "src/base/hosts.h"
#include "src/comm/host_exchange.h"

namespace octet::checkpoint {
namespace {

std::string_view without_room(std::string_view text) {
  constexpr std::string_view room = "[checkpoints] ";
  return text.starts_with(room) ? text.substr(room.size()) : text;
}

}  // namespace

std::optional<Failure> failure_of(const std::function<void()>& work) {
  try {
    work();
    return std::nullopt;
  } catch (const Error& error) {
    return Failure{error.code(), error.what()};
  } catch (const std::exception& error) {
    return Failure{ExitCode::internal, error.what()};
  }
}

void agree(const std::string& what, const std::optional<Failure>& mine, Communicator& world) {
  if (largest(mine ? 1 : 0, world) == 0) return;
  Packer packer;
  packer.put(static_cast<std::uint8_t>(mine.has_value()));
  if (mine) packer.put(mine->code, mine->text, host_name());
  int first = -1, more = 0;
  Failure failure;
  std::string host;
  const std::vector<std::string> all = gather_bytes(packer.bytes(), world);
  for (std::size_t r = 0; r < all.size(); ++r) {
    Unpacker unpacker(all[r]);
    if (unpacker.take<std::uint8_t>() == 0) continue;
    if (first >= 0) {
      ++more;
      continue;
    }
    first = static_cast<int>(r);
    failure.code = unpacker.take<ExitCode>();
    failure.text = unpacker.take_text();
    host = unpacker.take_text();
  }
  const std::string others = more == 0 ? "" : fmt::format(" (and {} more rank(s) failed)", more);
  throw Error(
      failure.code,
      fmt::format("[checkpoints] {}: rank {} on {}: {}{}", what, first, host, without_room(failure.text), others),
      true);
}

void together(const std::string& what, Communicator& world, const std::function<void()>& work) {
  agree(what, failure_of(work), world);
}

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

}  // namespace octet::checkpoint
