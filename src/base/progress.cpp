#include "src/base/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "src/base/log.h"
#include "src/base/printable.h"
#include "src/base/seconds_since.h"
#include "src/base/utf8_piece.h"

namespace octet {
namespace {

constexpr auto redraw_interval = std::chrono::milliseconds(100);
constexpr auto line_interval = std::chrono::seconds(10);
constexpr int bar_width = 30;

/// The present width of the terminal that standard error is.
std::size_t columns() {
  constexpr std::size_t usual = 80;
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

/// The first `most` characters of a text that is UTF-8.
std::string_view beginning(std::string_view text, std::size_t most) {
  std::size_t end = 0;
  while (most-- > 0 && end < text.size()) end += first_utf8_piece(text.substr(end)).bytes;
  return text.substr(0, end);
}

}  // namespace

std::string format_bytes(std::int64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string time_left(double share, double seconds) {
  return share > 0 && share < 1 ? fmt::format(", {:.0f} s left", seconds * (1 - share) / share) : "";
}

StatusLine::StatusLine() : terminal_(isatty(STDERR_FILENO) != 0) {}

StatusLine::~StatusLine() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

bool StatusLine::due() const {
  return terminal_ ? Clock::now() - shown_ >= redraw_interval : Clock::now() - shown_ >= line_interval;
}

void StatusLine::show(const std::string& text) {
  if (terminal_) {
    const std::string line = readable(text);
    // The next redraw would not clear the first row of a text of two rows. Errors do not count: the terminal may be
    // gone.
    std::fputs(fmt::format("\r\033[K{}", beginning(line, columns() - 1)).c_str(), stderr);
    std::fflush(stderr);
    drawn_ = !text.empty();
  } else if (text.empty() || !due()) {
    return;
  } else {
    log::info("{}", text);
  }
  shown_ = Clock::now();
}

Progress::Progress(std::string what, std::int64_t total) : what_(std::move(what)), total_(total) {}

std::string Progress::status() const {
  const double seconds = seconds_since(start_);
  const double rate = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
  std::string text = fmt::format("{} {}", what_, format_bytes(done_));
  if (total_ > 0) {
    text += fmt::format(" of {} ({:.0f} %)", format_bytes(total_),
                        100.0 * static_cast<double>(done_) / static_cast<double>(total_));
  }
  text += fmt::format(", {}/s", format_bytes(static_cast<std::int64_t>(rate)));
  return total_ > 0 ? text + time_left(static_cast<double>(done_) / static_cast<double>(total_), seconds) : text;
}

std::string Progress::bar() const {
  const double part = total_ > 0 ? std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_)) : 0.0;
  const int full = static_cast<int>(part * bar_width);
  return fmt::format("[{:#<{}}{:<{}}] ", "", full, "", bar_width - full);
}

void Progress::advance(std::int64_t bytes) {
  done_ += bytes;
  if (line_.due()) line_.show(line_.on_terminal() ? bar() + status() : status());
}

}  // namespace octet
