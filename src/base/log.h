#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace octet::log {

/// Who this process is. Set once after MPI is up; rank 0 prints information, every rank prints warnings and errors,
/// those of other ranks with "[rank N host]" in front. Lines go to standard error except `out`, which is for results.
void set_identity(int rank, int ranks, std::string host);
int rank();
/// "rank 3 of 8 on node-17", or an empty string for one process.
std::string identity();

void write_info(std::string_view text);
void write_warning(std::string_view text);
void write_error(std::string_view text);
void write_out(std::string_view text);

enum class Level { info, warning };
/// What concerns this rank's own machine: from every rank, each, rank 0 too, with "[rank N host]" in front where there
/// are several.
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
void error(fmt::format_string<Args...> text, Args&&... args) {
  write_error(fmt::format(text, std::forward<Args>(args)...));
}
/// A line of results on standard output, from rank 0 only.
template <typename... Args>
void out(fmt::format_string<Args...> text, Args&&... args) {
  write_out(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace octet::log
