#include "src/comm/failure.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>

#include "src/base/files.h"
#include "src/base/log.h"

namespace octet {
namespace {

constexpr unsigned seconds_to_end = 10;
constexpr std::chrono::seconds leave_to_others(4);
constexpr std::chrono::milliseconds time_for_first(500);

std::atomic<const FailureFile*> failure_file = nullptr;
std::atomic<bool> failing = false;
std::atomic<bool> watchdog_ends = false;

/// A line in memory of its own.
class Line {
 public:
  template <typename... Args>
  explicit Line(fmt::format_string<Args...> format, Args&&... args) {
    const auto made = fmt::format_to_n(text_.data(), text_.size() - 1, format, std::forward<Args>(args)...);
    length_ = std::min(made.size, text_.size() - 1);
    std::replace(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(length_), '\n', ' ');
    text_[length_++] = '\n';
  }
  std::string_view text() const { return {text_.data(), length_}; }

 private:
  std::array<char, 4096> text_;
  std::size_t length_ = 0;
};

/// What became of a file that keeps the line of whoever writes it first.
enum class Written : std::uint8_t { now, before, no_room, never };

Written why_not() {
  if (errno == EEXIST) return Written::before;
  return errno == ENOSPC || errno == EDQUOT ? Written::no_room : Written::never;
}

Written write_new(const char* path, const Line& line) {
  FileHandle file = open_to_write(path, O_WRONLY | O_EXCL);
  if (!file) return why_not();
  if (write_all(file.get(), line.text()) && close_file(file)) return Written::now;
  const Written why = why_not();
  unlink(path);
  return why;
}

/// "2026-11-22T22:45:32Z"; gmtime takes a lock.
std::array<char, 24> utc_time() {
  using namespace std::chrono;
  const auto now = time_point_cast<seconds>(system_clock::now());
  const auto day = floor<days>(now);
  const year_month_day date(day);
  const hh_mm_ss time(now - day);
  std::array<char, 24> text{};
  fmt::format_to_n(text.data(), text.size() - 1, "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                   static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                   time.minutes().count(), time.seconds().count());
  return text;
}

/// How long a rank that failed leaves it to others to speak.
std::chrono::milliseconds patience(ExitCode code, bool common) {
  const int rank = log::rank();
  if (common && rank > 0) return std::chrono::milliseconds(1000 + std::min(20 * rank, 2000));
  if (code == ExitCode::lost_peer) return std::chrono::milliseconds(500 + std::min(20 * rank, 2000));
  return {};
}

/// `own`: null where no FailureFile lives.
LeftReason leave_reason_in(const FailureFile* own, ExitCode code, std::string_view message) noexcept {
  const int number = static_cast<int>(code);
  const char* const host = log::host();
  const char* const given = std::getenv("OCTET_FAILURE_FILE");
  LeftReason left;
  if (given != nullptr && *given != '\0') {
    left.lost = write_new(given, Line("{} rank {} on {}: {}", number, log::rank(), host, message)) > Written::before;
  }
  if (own == nullptr) return left;
  Written written = Written::never;
  if (own->may_write(code)) {
    written = write_new(own->path().c_str(),
                        Line("{} {} rank {} exit code {}: {}", utc_time().data(), host, log::rank(), number, message));
  }
  // On a full disk no rank can write failure.txt: each rank that fails then counts as the first, so that it writes its
  // reason into status.json, for which there is room.
  left.first = written == Written::now || written == Written::no_room;
  left.late = written == Written::before;
  left.lost = left.lost || written > Written::before;
  return left;
}

}  // namespace

FailureFile::FailureFile(std::string path, std::function<bool(ExitCode)> may_write,
                         std::function<void(ExitCode, const std::string&)> first)
    : path_(std::move(path)), may_write_(std::move(may_write)), first_(std::move(first)) {
  failure_file = this;
}

FailureFile::~FailureFile() {
  failure_file = nullptr;
  // The watchdog's thread may be using this object, and ends the process when it is done: wait for that.
  while (watchdog_ends) std::this_thread::sleep_for(std::chrono::seconds(seconds_to_end));
}

LeftReason leave_reason(ExitCode code, std::string_view message) noexcept {
  return leave_reason_in(failure_file, code, message);
}

void end_soon(int exit_code) {
  alarm(2 * seconds_to_end);  // ends it where not even a thread can be made
  try {
    std::thread([exit_code] {
      std::this_thread::sleep_for(std::chrono::seconds(seconds_to_end));
      _exit(exit_code);
    }).detach();
  } catch (const std::exception&) {
  }
}

void tell_failure(ExitCode code, const std::string& message, bool agreed) noexcept {
  if (failing.exchange(true)) return;
  const bool common = agreed || code == ExitCode::usage || code == ExitCode::unhealthy;
  std::this_thread::sleep_for(patience(code, common));
  end_soon(static_cast<int>(code));
  const LeftReason left = leave_reason(code, message);
  if (left.first) failure_file.load()->tell(code, message);
  // The log names rank and host itself except on rank 0, whose voice is that of the whole job.
  if (log::rank() == 0 && code != ExitCode::usage) {
    log::write_of_rank(log::Level::error, message);
  } else {
    log::error("{}", message);
  }
  if (left.late) std::this_thread::sleep_for(time_for_first);
  if (left.lost && common && code != ExitCode::usage) std::this_thread::sleep_for(leave_to_others);
}

void arm_the_end() noexcept {
  alarm(seconds_to_end);
}

void end_by_watchdog(ExitCode code, std::string_view message) noexcept {
  log::write_error_at_once(message);
  watchdog_ends = true;  // from here on, no FailureFile that exists goes away
  const FailureFile* const own = failure_file;
  const LeftReason left = leave_reason_in(own, code, message);
  if (left.first) own->tell(code, std::string(message));
  if (left.late) std::this_thread::sleep_for(time_for_first);
  _exit(static_cast<int>(code));
}

bool is_failing() noexcept {
  return failing;
}

}  // namespace octet
