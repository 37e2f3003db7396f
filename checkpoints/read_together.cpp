#include "checkpoints/read_together.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "checkpoints/packing.h"
#include "src/base/left_out_hosts.h"
#include "src/base/log.h"
#include "src/comm/failure.h"
#include "src/comm/host_exchange.h"
#include "src/comm/watchdog.h"

namespace octet::checkpoint {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// Where to look for what the lowest rank with an error could not read.
struct Place {
  std::string path;
  std::int64_t offset = 0;
};

Place place_of_lowest(const std::optional<ReadError>& mine, Communicator& world) {
  Packer packer;
  packer.put(static_cast<std::uint8_t>(mine.has_value()));
  if (mine) {
    packer.put(mine->path());
    packer.put(mine->offset());
  }
  for (const std::string& bytes : gather_bytes(packer.bytes(), world)) {
    Unpacker unpacker(bytes);
    if (unpacker.take<std::uint8_t>() == 0) continue;
    Place place{.path = unpacker.take_text()};
    place.offset = unpacker.take<std::int64_t>();
    return place;
  }
  return {};
}

/// The first look at a file or a folder there, where that fails.
std::optional<ReadError> look_at(const Place& place) {
  try {
    struct stat info {};
    if (::stat(place.path.c_str(), &info) != 0) throw ReadError(place.path, errno);
    if (S_ISDIR(info.st_mode)) {
      std::error_code error;
      const std::filesystem::directory_iterator entries(place.path, error);
      if (error) throw ReadError(place.path, error.value());
    } else {
      InputFile(place.path).read_blocks([](std::span<const char>) {}, {.offset = place.offset, .bytes = 1});
    }
    return std::nullopt;
  } catch (const ReadError& error) {
    return error;
  }
}

/// A host, and what its first rank says that could not read there.
struct HostReading {
  std::string host;
  int error = 0;  ///< errno
  std::string reason{};
};

std::vector<HostReading> by_host(const std::optional<ReadError>& mine, Communicator& world) {
  Packer packer;
  packer.put(std::string_view(log::host()));
  packer.put(mine ? mine->error() : 0);
  packer.put(mine ? mine->reason() : "");
  std::vector<HostReading> hosts;
  for (const std::string& bytes : gather_bytes(packer.bytes(), world)) {
    Unpacker unpacker(bytes);
    HostReading of_rank{.host = unpacker.take_text()};
    of_rank.error = unpacker.take<int>();
    of_rank.reason = unpacker.take_text();
    const auto known = std::ranges::find(hosts, of_rank.host, &HostReading::host);
    if (known == hosts.end()) {
      hosts.push_back(of_rank);
    } else if (known->error == 0) {
      *known = of_rank;
    }
  }
  return hosts;
}

Error error_of(const std::string& path, const std::vector<HostReading>& all) {
  std::vector<std::string> failed;
  std::string reason;
  for (const HostReading& reading : all) {
    if (reading.error == 0) continue;
    if (failed.empty()) reason = reading.reason;
    failed.push_back(reading.host);
  }
  const std::string seen =
      fmt::format("cannot read {} on {} of {} host(s): {}", path, failed.size(), all.size(), reason);
  const bool most = 2 * failed.size() > all.size();
  if (most) return internal_error("checkpoints", "{}; it is the file system", seen);
  return {ExitCode::unhealthy, fmt::format("[checkpoints] {}{}", leave_out(failed), seen)};
}

/// `work` in its thread.
class ReadingThread {
 public:
  explicit ReadingThread(const std::function<void()>& work)
      : thread_([this, &work] {
          try {
            work();
          } catch (const ReadStopped&) {
          } catch (const ReadError& error) {
            unread_ = error;
          } catch (...) {
            other_ = std::current_exception();
          }
          ended_ = true;
        }) {}
  ~ReadingThread() { thread_.join(); }
  ReadingThread(const ReadingThread&) = delete;
  ReadingThread& operator=(const ReadingThread&) = delete;

  bool ended() const { return ended_; }
  /// These when it has ended.
  const std::optional<ReadError>& unread() const { return unread_; }
  void rethrow_other() const {
    if (other_) std::rethrow_exception(other_);
  }

 private:
  std::atomic<bool> ended_ = false;
  std::optional<ReadError> unread_;
  std::exception_ptr other_;
  std::thread thread_;
};

enum class State : std::int32_t { ended, reading, failed };

/// Until all have ended, or one has failed.
void watch(const char* what, const ReadingThread& thread, const ReadProgress& progress, Communicator& world) {
  for (milliseconds pause(1);;) {
    const OperationScope operation(what);  // its deadline begins anew with every progress
    for (const std::int64_t bytes = progress.bytes(); bytes == progress.bytes();) {
      const State mine = !thread.ended() ? State::reading : thread.unread() ? State::failed : State::ended;
      const auto furthest = static_cast<State>(largest(static_cast<std::int32_t>(mine), world));
      if (furthest != State::reading) return;
      if (mine == State::reading) operation.check_deadline();
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, milliseconds(100));
    }
  }
}

/// A thread that hangs in the file system may come back at any time and write where it was told to, so that nothing it
/// knows can be given up: the process ends here.
[[noreturn]] void end_here(const Error& error, Communicator& world) {
  const int code = static_cast<int>(error.code());
  tell_failure(error.code(), error.what());
  world.abort(code);
  std::abort();  // gcc does not believe a virtual noreturn
}

void await_end(const ReadingThread& thread, const Error& otherwise, Communicator& world) {
  for (const auto end = Clock::now() + std::chrono::seconds(2); !thread.ended();) {
    if (Clock::now() >= end) end_here(otherwise, world);
    std::this_thread::sleep_for(milliseconds(1));
  }
}

}  // namespace

std::optional<std::string> agree_on_reading(const std::optional<ReadError>& mine, Communicator& world,
                                            bool others_look) {
  if (largest(mine ? 1 : 0, world) == 0) return std::nullopt;
  const OperationScope operation("look at a file that a rank could not read");
  const Place place = place_of_lowest(mine, world);
  const std::vector<HostReading> hosts = by_host(mine || !others_look ? mine : look_at(place), world);
  const auto absent = [](const HostReading& reading) { return reading.error == ENOENT; };
  if (std::ranges::all_of(hosts, absent)) return fmt::format("{}: {}", place.path, std::strerror(ENOENT));
  throw error_of(place.path, hosts);
}

std::optional<std::string> read_together(const char* what, Communicator& world, ReadProgress& progress,
                                         const std::function<void()>& work) {
  ReadingThread thread(work);
  std::optional<std::string> absent;
  try {
    watch(what, thread, progress, world);
    progress.stop();
    absent = agree_on_reading(thread.ended() ? thread.unread() : std::nullopt, world);
  } catch (const Error& error) {
    progress.stop();
    await_end(thread, error, world);
    throw;
  }
  await_end(thread, internal_error("checkpoints", "{}: does not end, though {}", what, absent.value_or("all did")),
            world);
  thread.rethrow_other();
  return absent;
}

}  // namespace octet::checkpoint
