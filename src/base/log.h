#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace octet::log {

/// Who this process is. Set once after MPI is up; rank 0 prints information, every rank prints warnings and errors,
/// those of other ranks with "[rank N host]" in front. Lines go to standard error except `out`, which is for results:
/// "2026-11-27 12:00:00 I TEXT", with the local time and I, W or E. Control characters but line breaks and tabs are
/// spelled out, so that what came from others' files commands no terminal (printable.h).
void set_identity(int rank, int ranks, std::string host);
int rank();
/// The host that set_identity was told; before that, what the system calls this machine. Takes no lock.
const char* host();
/// "rank 3 of 8 on node-17", or an empty string for one process.
std::string identity();

void write_info(std::string_view text);
void write_warning(std::string_view text);
void write_error(std::string_view text);
void write_out(std::string_view text);

/// A warning for which other ranks are likely to have the same reason. While a SharedWarnings lives it waits there, to
/// be told once for all ranks that have it; otherwise it is printed at once, as any warning. Any thread.
void write_shared_warning(std::string_view text);

/// Keeps shared warnings while it lives, one at a time in a process: this room knows no other rank, so whoever does
/// takes them from time to time, and prints what all ranks had. Nothing is lost: what was not taken is printed as this
/// rank's own before an error is, and when this object ends.
class SharedWarnings {
 public:
  SharedWarnings();
  ~SharedWarnings();
  SharedWarnings(const SharedWarnings&) = delete;
  SharedWarnings& operator=(const SharedWarnings&) = delete;

  /// Says whether any warnings wait; none do where no such object lives. Any thread may ask, as for take().
  static bool any();
  /// The warnings that wait, in order, each text once; they are the caller's to print.
  static std::vector<std::string> take();
};

/// An error straight to standard error, past the log's lock and memory, for a process whose main thread hangs and may
/// hold both. What does not fit into 4,000 bytes is cut off, and a reader that takes nothing for a second gets nothing.
// NOLINTNEXTLINE(bugprone-exception-escape): as in log.cpp, nothing in it throws
void write_error_at_once(std::string_view text) noexcept;

enum class Level { info, warning, error };
/// A line about this rank's own machine: every rank prints its own, also rank 0, with "[rank N host]" in front where
/// there are several ranks.
void write_of_rank(Level level, std::string_view text);

template <typename... Args>
void info(fmt::format_string<Args...> text, Args&&... args) {
  write_info(fmt::format(text, std::forward<Args>(args)...));
}
template <typename... Args>
void warning(fmt::format_string<Args...> text, Args&&... args) {
  write_warning(fmt::format(text, std::forward<Args>(args)...));
}
template <typename... Args>
void shared_warning(fmt::format_string<Args...> text, Args&&... args) {
  write_shared_warning(fmt::format(text, std::forward<Args>(args)...));
}
template <typename... Args>
void error(fmt::format_string<Args...> text, Args&&... args) {
  write_error(fmt::format(text, std::forward<Args>(args)...));
}
/// The exit code for a program that has printed its results: `code`, or, after an error message, 70 where standard
/// output did not take all of them, as on a full disk.
int after_output(int code);
/// A line of results on standard output, from rank 0 only.
template <typename... Args>
void out(fmt::format_string<Args...> text, Args&&... args) {
  write_out(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace octet::log
