#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace octet {

/// "1.5 GiB", "12 B".
std::string format_bytes(std::int64_t bytes);

/// Progress of long offline work, on standard error: a bar that redraws itself on a terminal, a line every ten
/// seconds elsewhere. For one thread.
class Progress {
 public:
  /// total: bytes to come, 0 if unknown.
  Progress(std::string what, std::int64_t total);
  /// Clears the bar.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::int64_t bytes);

 private:
  using Clock = std::chrono::steady_clock;
  std::string status(Clock::time_point now) const;
  void draw(Clock::time_point now);

  std::string what_;
  std::int64_t total_;
  std::int64_t done_ = 0;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = start_;
};

}  // namespace octet
