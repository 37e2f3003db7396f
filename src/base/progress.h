#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace octet {

/// "1.5 GiB", "12 B".
std::string format_bytes(std::int64_t bytes);
/// ", 12 s left" of work of which a share of 0 to 1 took so many seconds; empty where nothing is done yet.
std::string time_left(double share, double seconds);

/// Says on standard error what goes on now: on a terminal one line that is written anew, cut off where the terminal
/// ends; elsewhere a line of the log every ten seconds. For one thread.
class StatusLine {
 public:
  using Clock = std::chrono::steady_clock;
  StatusLine();
  /// Clears the line.
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool on_terminal() const { return terminal_; }
  /// Says whether a text is to be shown now; whoever has a new one all the time asks this first.
  bool due() const;
  /// Shows the text. An empty one clears the line, before something is printed on standard output.
  void show(const std::string& text);

 private:
  bool terminal_, drawn_ = false;
  Clock::time_point shown_ = Clock::now();
};

/// Progress of long offline work, as a StatusLine with a bar where that is on a terminal.
class Progress {
 public:
  /// total: bytes to come, 0 if unknown.
  Progress(std::string what, std::int64_t total);
  void advance(std::int64_t bytes);

 private:
  std::string status() const;
  std::string bar() const;

  std::string what_;
  std::int64_t total_;
  std::int64_t done_ = 0;
  StatusLine line_;
  StatusLine::Clock::time_point start_ = StatusLine::Clock::now();
};

}  // namespace octet
