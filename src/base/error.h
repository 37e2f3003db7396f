#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace octet {

/// Process exit codes that batch scripts rely on (docs/run-directories.md, "Exit codes").
enum class ExitCode : int {
  finished = 0,
  usage = 64,         ///< bad command line, configuration, layout or input data
  internal = 70,      ///< a bug, or the machine failed us
  lost_peer = 71,     ///< another rank died or a deadline passed
  resumable = 75,     ///< stopped early with a committed checkpoint
  unhealthy = 76,     ///< a health check failed
  non_finite = 77,    ///< NaN or infinity in the loss, a gradient or the last step
  interrupted = 130,  ///< SIGINT, nothing saved
  terminated = 143,   ///< SIGTERM, nothing saved
};

/// The only exception type that Octet throws on purpose. `main` turns it into one message and the exit code.
class Error : public std::runtime_error {
 public:
  /// `agreed`: every rank throws the same, so that one may speak for all.
  Error(ExitCode code, const std::string& message, bool agreed = false)
      : std::runtime_error(message), code_(code), agreed_(agreed) {}
  ExitCode code() const noexcept { return code_; }
  bool agreed() const noexcept { return agreed_; }

 private:
  ExitCode code_;
  bool agreed_;
};

/// `throw usage_error("data", "{}: ...", path)` gives "[data] path: ...". The room is the folder that speaks.
template <typename... Args>
Error usage_error(std::string_view room, fmt::format_string<Args...> text, Args&&... args) {
  return {ExitCode::usage, fmt::format("[{}] {}", room, fmt::format(text, std::forward<Args>(args)...))};
}

/// An error for states that only a bug or a broken machine can produce.
template <typename... Args>
Error internal_error(std::string_view room, fmt::format_string<Args...> text, Args&&... args) {
  return {ExitCode::internal, fmt::format("[{}] {}", room, fmt::format(text, std::forward<Args>(args)...))};
}

}  // namespace octet
