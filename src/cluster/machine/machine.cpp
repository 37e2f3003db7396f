#include "src/cluster/machine/machine.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include "src/base/error.h"
#include "src/base/files.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

void add_line(const std::string& line, std::map<std::string, std::string>& out) {
  const std::size_t equals = line.find('=');
  if (equals != std::string::npos) out[line.substr(0, equals)] = line.substr(equals + 1);
}

std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) add_line(*entry, out);
  return out;
}

std::map<std::string, std::string> parse_environment(const std::string& text) {
  std::map<std::string, std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) add_line(line, out);
  return out;
}

}  // namespace

Machine::Machine(std::string root) : root_(std::move(root)) {
  std::error_code error;
  const fs::path place = fs::canonical(root_, error);
  if (error || !fs::is_directory(place, error)) {
    throw usage_error("cluster", "--root {}: expected a folder{}{}", root_, error ? "; " : "",
                      error ? error.message() : "");
  }
  root_ = place;
  environment_ = is_live() ? own_environment() : parse_environment(run("env", {}).out);
}

std::string Machine::path(const std::string& file) const {
  return is_live() ? file : root_ + file;
}

std::optional<std::string> Machine::read(const std::string& file) const {
  std::optional<std::string> text = read_text_file(path(file));
  if (text) text->erase(text->find_last_not_of(" \t\r\n") + 1);
  return text;
}

std::optional<long long> Machine::read_number(const std::string& file) const {
  const auto text = read(file);
  long long value = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

std::vector<std::string> Machine::list(const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator i(path(folder), error); !error && i != fs::directory_iterator(); i.increment(error)) {
    names.push_back(i->path().filename());
  }
  std::ranges::sort(names);
  return names;
}

ProgramResult Machine::run(const std::string& name, const std::vector<std::string>& command, double seconds) const {
  if (is_live()) return run_program(command, seconds);
  const auto text = read("/commands/" + name);
  if (!text) return {};
  const auto exit_code = read_number("/commands/" + name + ".exit").value_or(0);
  return {.found = true, .exit_code = static_cast<int>(exit_code), .out = *text, .err = ""};
}

std::string Machine::variable(const std::string& name) const {
  const auto found = environment_.find(name);
  return found == environment_.end() ? "" : found->second;
}

std::string Machine::name() const {
  std::string slurm = variable("SLURMD_NODENAME");
  if (!slurm.empty()) return slurm;
  return read("/proc/sys/kernel/hostname").value_or("unknown");
}

}  // namespace octet
