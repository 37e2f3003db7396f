#include "jobs/version.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/comm/mpi/plain_mpi.h"

namespace octet {

extern const char* const built_commit;  // cmake/commit.cmake writes the source that defines it

namespace {

/// MPI's own line is "MPICH Version: 4.0.2", with more spaces before the number in newer ones.
std::string mpi_version() {
  std::string line = mpi_library();
  constexpr std::string_view word = " Version:";
  if (const std::size_t at = line.find(word); at != std::string::npos) {
    line.replace(at, std::min(line.find_first_not_of(' ', at + word.size()), line.size()) - at, " ");
  }
  return line;
}

}  // namespace

std::string version_text(std::string_view program) {
  return fmt::format(
      "{} {}\n"
      "commit     {}\n"
      "built      {}\n"
      "devices    {}\n"
      "libraries  {}, built with {}\n",
      program, OCTET_VERSION, built_commit, OCTET_BUILT, OCTET_DEVICES, mpi_version(), OCTET_LIBRARIES);
}

Build this_build() {
  return {.source = fmt::format("octet {}, commit {}", OCTET_VERSION, built_commit),
          .made = fmt::format("{}, devices {}, built with {}", OCTET_BUILT, OCTET_DEVICES, OCTET_LIBRARIES)};
}

bool asks_for_version(const std::vector<std::string>& words) {
  return std::ranges::find(words, "--version") != words.end();
}

}  // namespace octet
