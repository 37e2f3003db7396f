#include "src/owner/process.h"

#include "src/base/files.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace octet {
namespace {

namespace fs = std::filesystem;

/// What stands behind the name in a `stat` of /proc: the state, then 18 fields, then when it started.
struct Stat {
  char state = 'X';
  std::int64_t start_ticks = 0;
};

std::optional<Stat> read_stat(const std::string& path) {
  const std::string text = read_text_file(path).value_or("");
  const std::size_t name_end = text.rfind(')');  // a name may have spaces and brackets itself
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  Stat stat;
  fields >> stat.state;
  std::string skipped;
  for (int i = 0; i < 18; ++i) fields >> skipped;
  fields >> stat.start_ticks;
  return fields ? std::optional(stat) : std::nullopt;
}

bool has_ended(const Stat& stat) {
  return stat.state == 'Z' || stat.state == 'X';
}

bool has_live_thread(std::int64_t pid) {
  std::error_code error;
  for (fs::directory_iterator i(fmt::format("/proc/{}/task", pid), error); !error && i != fs::directory_iterator();
       i.increment(error)) {
    const auto stat = read_stat(i->path() / "stat");
    if (stat && !has_ended(*stat)) return true;
  }
  return false;
}

}  // namespace

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::string pid_namespace() {
  std::error_code error;
  return fs::read_symlink("/proc/self/ns/pid", error).string();
}

std::optional<ProcessTrace> find_process(std::int64_t pid) {
  const auto stat = read_stat(fmt::format("/proc/{}/stat", pid));
  if (!stat || (has_ended(*stat) && !has_live_thread(pid))) return std::nullopt;
  return ProcessTrace{stat->start_ticks};
}

}  // namespace octet
