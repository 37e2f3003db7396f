#include "src/comm/read_together.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/hosts.h"
#include "src/base/log.h"
#include "src/comm/control_exchange.h"
#include "src/comm/failure.h"
#include "src/comm/operation.h"
#include "src/comm/packing.h"

namespace octet::files {
namespace {

using std::chrono::milliseconds;

/// Where to look for what the lowest rank with an error could not read.
struct Place {
  std::string path;
  std::int64_t offset = 0;
};

Place place_of_lowest(const std::optional<ReadError>& mine, Communicator& control) {
  Packer packer;
  packer.put(static_cast<std::uint8_t>(mine.has_value()));
  if (mine) packer.put(mine->path(), mine->offset());
  for (const std::string& bytes : gather_bytes(packer.bytes(), control)) {
    Unpacker unpacker(bytes);
    if (unpacker.take<std::uint8_t>() == 0) continue;
    Place place{.path = unpacker.take_text()};
    place.offset = unpacker.take<std::int64_t>();
    unpacker.expect_end();
    return place;
  }
  return {};
}

/// `work` in its thread.
class ReadingThread {
 public:
  explicit ReadingThread(std::function<void()> work)
      : thread_([this, work = std::move(work)] {
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

/// What a rank knows of the place.
struct Answer {
  std::string host;
  int error = 0;  ///< errno
  std::string reason{};
  bool sees = false;         ///< now
  bool sees_folder = false;  ///< in which it is
};

std::string packed(const Answer& answer) {
  return Packer().put(answer.host, answer.error, answer.reason, answer.sees, answer.sees_folder).bytes();
}

Answer unpacked(const std::string& bytes) {
  Unpacker unpacker(bytes);
  Answer answer{.host = unpacker.take_text()};
  answer.error = unpacker.take<int>();
  answer.reason = unpacker.take_text();
  answer.sees = unpacker.take<bool>();
  answer.sees_folder = unpacker.take<bool>();
  unpacker.expect_end();
  return answer;
}

/// Nobody sees it, and somebody sees where it would be.
bool is_absent(const std::vector<Answer>& answers) {
  const auto misses = [](const Answer& a) { return a.error == ENOENT && !a.sees; };
  return std::ranges::all_of(answers, misses) && std::ranges::any_of(answers, &Answer::sees_folder);
}

/// Of each host the first answer that is an error, else the first.
std::vector<Answer> by_host(const std::vector<Answer>& answers) {
  std::vector<Answer> hosts;
  for (const Answer& answer : answers) {
    const auto known = std::ranges::find(hosts, answer.host, &Answer::host);
    if (known == hosts.end()) {
      hosts.push_back(answer);
    } else if (known->error == 0) {
      *known = answer;
    }
  }
  return hosts;
}

Error error_of(const std::string& path, const std::vector<Answer>& hosts) {
  std::vector<std::string> failed;
  std::string reason;
  bool refused = true;
  for (const Answer& host : hosts) {
    if (host.error == 0) continue;
    if (failed.empty()) reason = host.reason;
    failed.push_back(host.host);
    refused = refused && is_refused(host.error);
  }
  const std::string seen =
      fmt::format("cannot read {} on {} of {} host(s): {} (docs/problems.md, \"A file cannot be read on some hosts\")",
                  path, failed.size(), hosts.size(), reason);
  if (2 * failed.size() <= hosts.size()) {
    return {ExitCode::unhealthy, fmt::format("[files] {}{}", leave_out(failed), seen), true};
  }
  if (refused) return {ExitCode::usage, fmt::format("[files] {}", seen), true};
  return {ExitCode::internal, fmt::format("[files] {}; it is the file system", seen), true};
}

enum class State : std::int32_t { ended, reading, failed };

/// What could not be read; also where other files are still being read.
std::optional<ReadError> unread_of(const ReadingThread& thread, const ReadProgress& progress) {
  if (thread.ended() && thread.unread()) return thread.unread();
  return progress.failure();  // also of a thread that ended since it was told to
}

State state_of(const ReadingThread& thread, const ReadProgress& progress) {
  const bool ended = thread.ended();
  if (unread_of(thread, progress)) return State::failed;
  return ended ? State::ended : State::reading;
}

/// Until all have ended, or one has failed.
void watch(const char* what, const ReadingThread& thread, const ReadProgress& progress, Communicator& control) {
  for (const auto begin = std::chrono::steady_clock::now();;) {
    const OperationScope operation(what);  // its deadline begins anew with every progress
    for (const std::int64_t bytes = progress.bytes(); bytes == progress.bytes();) {
      const State mine = state_of(thread, progress);
      const auto furthest = static_cast<State>(largest(static_cast<std::int32_t>(mine), control));
      if (furthest != State::reading) return;
      if (mine == State::reading) {
        operation.check_deadline(
            fmt::format("the file system of {} does not answer for {}", log::host(), progress.path()));
      }
      std::this_thread::sleep_for(pause_after(std::chrono::steady_clock::now() - begin));
    }
  }
}

/// Whether it ends within that time.
bool ends(const ReadingThread& thread, std::chrono::seconds patience) {
  for (const auto end = std::chrono::steady_clock::now() + patience; !thread.ended();) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

/// A thread that hangs in the file system may come back at any time and write where it was told to, so that nothing it
/// knows can be given up: where it does, the process ends here.
void expect_end(const ReadingThread& thread, const Error& error, Communicator& control) {
  if (ends(thread, std::chrono::seconds(2))) return;
  const int code = static_cast<int>(error.code());
  tell_failure(error.code(), error.what(), error.agreed());
  control.abort(code);
}

/// As long as the phase allows.
void await_end(const char* what, const ReadingThread& thread) {
  const OperationScope operation(what);
  while (!ends(thread, std::chrono::seconds(1))) operation.check_deadline("a read does not end");
}

/// This rank's answer, which ends as long after it was asked as a file system may take that works.
Answer answer_of(const std::optional<ReadError>& mine, const Place& place, const ReadingThread& look,
                 bool sees_folder) {
  Answer answer{.host = log::host(), .sees_folder = sees_folder};
  const auto tell = [&](const ReadError& error) {
    answer.error = error.error();
    answer.reason = error.reason();
  };
  if (mine) {
    tell(*mine);
  } else if (!look.ended()) {
    tell(ReadError(place.path, "does not answer"));
  } else if (look.unread()) {
    tell(*look.unread());
  }
  answer.sees = look.ended() && !look.unread();
  return answer;
}

}  // namespace

std::chrono::nanoseconds pause_after(std::chrono::nanoseconds waited) {
  return std::clamp<std::chrono::nanoseconds>(waited / 20, milliseconds(1), milliseconds(250));
}

std::optional<std::string> agree_on_reading(const std::optional<ReadError>& mine, Communicator& control,
                                            bool others_look) {
  if (largest(mine ? 1 : 0, control) == 0) return std::nullopt;
  const OperationScope operation("look at a file that a rank could not read");
  const Place place = place_of_lowest(mine, control);
  std::atomic<bool> sees_folder = false;
  const ReadingThread look([&] {
    if (!others_look) return;
    std::error_code ignored;
    sees_folder = std::filesystem::is_directory(std::filesystem::path(place.path).parent_path() / ".", ignored);
    try_to_read(place.path, place.offset);
  });
  ends(look, std::chrono::seconds(2));
  std::vector<Answer> answers;
  for (const std::string& bytes : gather_bytes(packed(answer_of(mine, place, look, sees_folder)), control)) {
    answers.push_back(unpacked(bytes));
  }
  if (is_absent(answers)) return fmt::format("{}: {}", place.path, std::strerror(ENOENT));
  const Error error = error_of(place.path, by_host(answers));
  expect_end(look, error, control);
  throw error;
}

std::optional<std::string> read_together(const char* what, Communicator& control, ReadProgress& progress,
                                         const std::function<void()>& work) {
  ReadingThread thread(work);
  std::optional<std::string> absent;
  try {
    watch(what, thread, progress, control);
    progress.stop();
    absent = agree_on_reading(unread_of(thread, progress), control);
    await_end(what, thread);
  } catch (const Error& error) {
    progress.stop();
    expect_end(thread, error, control);
    throw;
  } catch (...) {
    progress.stop();
    throw;
  }
  thread.rethrow_other();
  return absent;
}

}  // namespace octet::files
