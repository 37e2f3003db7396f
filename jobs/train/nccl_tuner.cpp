#include "jobs/train/nccl_tuner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/tuning/tuning_file.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_variable = "OCTET_TUNING_FILE";
constexpr const char* plugin_variable = "NCCL_TUNER_PLUGIN";
constexpr const char* plugin_name = "libnccl-tuner-octet.so";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Why the file cannot be used; empty if it can.
std::string fault_of_file(const std::string& file) {
  try {
    read_tuning_file(file);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// What travels between ranks.
struct Record {
  std::uint64_t hash;
  char node[256];
  char text[1024];
};

std::vector<Record> gather(Communicator& hosts, const std::string& node, const TunerState& state) {
  Record own{};
  own.hash = state.hash;
  node.copy(own.node, sizeof own.node - 1);
  state.text.copy(own.text, sizeof own.text - 1);
  std::vector<Record> all(static_cast<std::size_t>(hosts.size()));
  hosts.all_gather(&own, all.data(), sizeof own, DType::u8);
  return all;
}

/// "node(s) a, b (2 ranks): tuning file ..."
std::string describe(const std::vector<Record>& all, std::uint64_t hash) {
  constexpr std::size_t most_names = 8;
  std::vector<std::string> nodes;
  std::string text;
  int ranks = 0;
  for (const Record& record : all) {
    if (record.hash != hash) continue;
    ++ranks;
    text = record.text;
    if (std::find(nodes.begin(), nodes.end(), record.node) == nodes.end()) nodes.emplace_back(record.node);
  }
  const std::size_t more = nodes.size() > most_names ? nodes.size() - most_names : 0;
  nodes.resize(nodes.size() - more);
  return fmt::format("node(s) {}{}, {} rank(s): {}", fmt::join(nodes, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "", ranks, text);
}

}  // namespace

void set_tuner_environment(const NcclSettings& settings, const std::string& library_folder) {
  const std::string &wanted = settings.tuning_file, file = variable(file_variable);
  if (wanted.empty()) return;
  if (!file.empty() && file != wanted) {
    throw usage_error("train", "nccl.tuning_file is {}, but {} is {}; expected one of them alone, or the same", wanted,
                      file_variable, file);
  }
  std::string plugin = variable(plugin_variable);
  if (plugin.empty()) plugin = fs::path(library_folder) / plugin_name;
  if (fs::path(plugin).filename() != plugin_name) {
    throw usage_error("train", "nccl.tuning_file is {}, but {} is {}, which does not read it; expected {}", wanted,
                      plugin_variable, plugin, plugin_name);
  }
  setenv(file_variable, wanted.c_str(), 1);
  setenv(plugin_variable, plugin.c_str(), 1);
}

TunerState tuner_state() {
  const std::string file = variable(file_variable), plugin = variable(plugin_variable);
  TunerState state;
  const bool ours = fs::path(plugin).filename() == plugin_name;
  if (!file.empty()) {
    const std::string text = content(file);
    state.hash = content_hash(text);
    state.text = fmt::format("tuning file {} ({})", file, text.empty() ? "none" : hash_text(state.hash));
    state.wrong =
        ours ? fault_of_file(file)
             : fmt::format("{} is {}, but {} is {}: nothing reads the file; expected the path of {}", file_variable,
                           file, plugin_variable, plugin.empty() ? "not set" : plugin, plugin_name);
  }
  // A name without a folder is for the loader to find.
  const bool has_path = plugin.find('/') != std::string::npos;
  const std::string library = has_path ? content(plugin) : plugin;
  state.hash ^= content_hash(library) * 31;
  state.text += fmt::format("{}plugin {} ({})", state.text.empty() ? "" : ", ", plugin.empty() ? "none" : plugin,
                            library.empty() ? "none" : hash_text(content_hash(library)));
  if (state.wrong.empty() && has_path && library.empty()) {
    state.wrong = fmt::format("{} is {}, which is not there; expected a library", plugin_variable, plugin);
  }
  return state;
}

void require_same_tuner(Communicator& hosts, const std::string& node, const TunerState& state) {
  const std::vector<Record> all = gather(hosts, node, state);
  std::vector<std::uint64_t> hashes;
  for (const Record& record : all) {
    if (std::find(hashes.begin(), hashes.end(), record.hash) == hashes.end()) hashes.push_back(record.hash);
  }
  if (hashes.size() > 1) {
    std::vector<std::string> groups;
    groups.reserve(hashes.size());
    for (const std::uint64_t hash : hashes) groups.push_back(describe(all, hash));
    throw usage_error(
        "train",
        "NCCL would be tuned differently from node to node, and hang: {}; expected the same file and plugin everywhere",
        fmt::join(groups, "; "));
  }
  if (!state.wrong.empty()) throw usage_error("train", "NCCL's tuner: {}", state.wrong);
}

void set_up_nccl_tuner(const NcclSettings& settings, Communicator& hosts, const std::string& node) {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  set_tuner_environment(settings, program.parent_path().parent_path() / "lib");
  const TunerState state = tuner_state();
  require_same_tuner(hosts, node, state);
  if (!variable(file_variable).empty()) log::info("NCCL is tuned by {}", state.text);
}

}  // namespace octet
