#include "jobs/ranks/nccl_tuner.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "jobs/ranks/differences.h"
#include "jobs/ranks/gpu_together.h"
#include "src/base/content_hash.h"
#include "src/base/environment.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/hex_text.h"
#include "src/base/installation.h"
#include "src/base/log.h"
#include "src/comm/nccl_communicator.h"
#include "src/tuning/tuner_library.h"
#include "src/tuning/tuning_file.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_variable = "OCTET_TUNING_FILE";
constexpr const char* plugin_variable = "NCCL_TUNER_PLUGIN";
constexpr const char* hash_variable = "OCTET_TUNING_HASH";

/// Why a file of that content cannot be used; empty if it can.
std::string fault_of_file(const std::string& file, const std::string& text) {
  try {
    text.empty() ? read_tuning_file(file) : parse_tuning_file(text, file);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// What the loader found for the plugin variable, into `state`.
void add_plugin(const std::string& value, TunerState& state) {
  const TunerLibrary library = find_tuner_library(value);
  const std::string bytes = library.path.empty() ? "" : read_text_file(library.path).value_or("");
  state.hash ^= content_hash(bytes) * 31;
  const std::string shown = !library.path.empty() ? library.path : value.empty() ? "none" : value;
  state.text += fmt::format("{}plugin {} ({})", state.text.empty() ? "" : ", ", shown,
                            bytes.empty() ? "none" : hex_text(content_hash(bytes)));
  if (state.wrong.empty() && !value.empty() && !library.sought.empty() && bytes.empty()) {
    state.wrong = fmt::format("{} is {}, which is not there; expected a library (sought: {})", plugin_variable, value,
                              library.sought);
  }
}

}  // namespace

void check_tuner_environment(const NcclSettings& settings, const std::string& file, const std::string& plugin) {
  const std::string& wanted = settings.tuning_file;
  if (wanted.empty()) return;
  if (!file.empty() && file != wanted) {
    throw usage_error("train", "nccl.tuning_file is {}, but {} is {}; expected one of them alone, or the same", wanted,
                      file_variable, file);
  }
  if (!plugin.empty() && !names_octet_tuner(plugin)) {
    throw usage_error("train", "nccl.tuning_file is {}, but {} is {}, which does not read it; expected {} or octet",
                      wanted, plugin_variable, plugin, octet_tuner_file);
  }
}

void set_tuner_environment(const NcclSettings& settings, const std::string& library_folder) {
  const std::string& wanted = settings.tuning_file;
  if (wanted.empty()) return;
  std::string plugin = environment_variable(plugin_variable);
  check_tuner_environment(settings, environment_variable(file_variable), plugin);
  if (plugin.empty()) plugin = fs::path(library_folder) / octet_tuner_file;
  setenv(file_variable, wanted.c_str(), 1);
  setenv(plugin_variable, plugin.c_str(), 1);
}

TunerState tuner_state() {
  const std::string file = environment_variable(file_variable), plugin = environment_variable(plugin_variable);
  TunerState state;
  if (!file.empty()) {
    const std::string text = read_text_file(file).value_or("");
    state.hash = state.file_hash = content_hash(text);
    state.text = fmt::format("tuning file {} ({})", file, text.empty() ? "none" : hex_text(state.hash));
    const std::string open = changeable_by_others(file);  // as it is on this node
    if (!open.empty()) {
      state.hash ^= content_hash(open);
      state.text += ", but " + open;
    }
    state.wrong =
        names_octet_tuner(plugin)
            ? fault_of_file(file, text)
            : fmt::format("{} is {}, but {} is {}: nothing reads the file; expected {} or its path", file_variable,
                          file, plugin_variable, plugin.empty() ? "not set" : plugin, octet_tuner_file);
    if (state.wrong.empty() && !open.empty()) state.wrong = fmt::format("{}: {}", file, open);
  }
  add_plugin(plugin, state);
  return state;
}

void require_same_tuner(Communicator& control, const std::string& node, const TunerState& state) {
  if (const std::string who = differences(control, node, state.hash, state.text); !who.empty()) {
    throw usage_error(
        "train",
        "NCCL would be tuned differently from node to node, and hang: {}; expected the same file and plugin everywhere",
        who);
  }
  if (!state.wrong.empty()) throw usage_error("train", "NCCL's tuner: {}", state.wrong);
}

void require_same_nccl(Communicator& control, const std::string& node, const std::string& version) {
  const std::string who = differences(control, node, content_hash(version), "NCCL " + version);
  if (who.empty()) return;
  throw usage_error("train", "NCCL is not the same everywhere, and would hang: {}; expected one version", who);
}

void export_tuning_hash(const TunerState& state) {
  if (state.file_hash == 0) {
    unsetenv(hash_variable);
  } else {
    setenv(hash_variable, hex_text(state.file_hash).c_str(), 1);
  }
}

void set_up_nccl_tuner(const NcclSettings& settings, Communicator& control, const std::string& node) {
  set_tuner_environment(settings, beside_programs("lib"));
  const TunerState state = tuner_state();
  require_same_tuner(control, node, state);
  if (control.size() > 1) {
    std::string version;
    use_gpu_together(control, [&] { version = nccl_version(); });
    require_same_nccl(control, node, version);
  }
  export_tuning_hash(state);
  if (!environment_variable(file_variable).empty()) log::info("NCCL is tuned by {}", state.text);
}

}  // namespace octet
