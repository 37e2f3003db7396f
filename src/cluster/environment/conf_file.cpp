#include "src/cluster/environment/conf_file.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "src/cluster/environment/value_check.h"
#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

/// What ~ stands for (NCCL's source, userHomeDir): the account's home up to 2.29, and HOME from 2.30 on. Where a script
/// or a container has set HOME, both count: who asks need not know which release will run.
std::vector<std::string> homes(const Machine& machine) {
  std::vector<std::string> out;
  if (machine.is_live()) {
    const passwd* account = ::getpwuid(::getuid());
    if (account != nullptr) out.emplace_back(account->pw_dir);
  }
  const std::string home = machine.variable("HOME");
  if (!home.empty() && std::ranges::count(out, home) == 0) out.push_back(home);
  return out;
}

/// Calls `each` with file, number and text of every line that is no comment and not empty.
void for_lines(const Machine& machine, const std::optional<std::string>& own,
               const std::function<void(const std::string&, int, const std::string&)>& each) {
  for (const std::string& file : conf_files(machine, own)) {
    std::istringstream lines(machine.read(file).value_or(""));
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      if (line.ends_with('\r')) line.pop_back();
      if (!line.starts_with('#') && !trimmed(line).empty()) each(file, number, line);
    }
  }
}

/// Why a line does not set a variable of NCCL; empty where it does, or sets another program's.
std::string problem_of(const std::string& line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string::npos) return "no NAME=VALUE: NCCL passes over it";
  const std::string name = line.substr(0, equals), bare = trimmed(name);
  if (!same_text(bare.substr(0, 5), "NCCL_")) return "";
  if (name != bare) return "NCCL takes the blanks beside = into the name, which nothing reads: write NAME=VALUE";
  return bare.starts_with("NCCL_") ? "" : "NCCL's names are of capitals: nothing reads this one";
}

}  // namespace

std::vector<std::string> conf_files(const Machine& machine, const std::optional<std::string>& own) {
  std::vector<std::string> out;
  if (const std::string named = own.value_or(machine.variable("NCCL_CONF_FILE")); !named.empty()) {
    out.push_back(named);
  } else {
    for (const std::string& home : homes(machine)) out.push_back(home + "/.nccl.conf");
  }
  out.emplace_back("/etc/nccl.conf");
  return out;
}

std::map<std::string, ConfValue> conf_values(const Machine& machine, const std::optional<std::string>& own) {
  std::map<std::string, ConfValue> out;
  for_lines(machine, own, [&](const std::string& file, int, const std::string& line) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || !problem_of(line).empty()) return;
    const std::string name = line.substr(0, equals);
    if (name.starts_with("NCCL_")) out.emplace(name, ConfValue{line.substr(equals + 1), file});
  });
  return out;
}

Findings conf_file_findings(const Machine& machine, const std::optional<std::string>& own) {
  Findings out;
  for_lines(machine, own, [&](const std::string& file, int number, const std::string& line) {
    const std::string problem = trimmed(line).starts_with('#') ? "" : problem_of(line);
    if (!problem.empty()) {
      out.push_back(
          {fmt::format("{}:{}", file, number), FindingState::warning, line, "NAME=VALUE, without blanks", problem});
    }
  });
  return out;
}

}  // namespace octet
