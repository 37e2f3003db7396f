// libnccl-tuner-octet.so: applies a cluster's tuning file inside NCCL. It lives in processes of other people: whatever
// happens it says so in NCCL's log, leaves NCCL's own choices in place and returns success.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "src/base/content_hash.h"
#include "src/base/error.h"
#include "src/base/hex_text.h"
#include "src/tuning/plugin/communicator_tuner.h"
#include "src/tuning/plugin/nccl_version.h"
#include "src/tuning/plugin/tuner_abi.h"
#include "src/tuning/tuning_file.h"

namespace octet {
namespace {

using namespace tuner_abi;

constexpr const char* file_variable = "OCTET_TUNING_FILE";
constexpr const char* hash_variable = "OCTET_TUNING_HASH";
constexpr const char* plugin_name = "octet";

void say(Logger logger, LogLevel level, const char* text) noexcept {
  if (logger != nullptr) {
    logger(level, log_init | log_tuning, "libnccl-tuner-octet", 0, "%s", text);
  } else if (level == log_warn) {
    std::fprintf(stderr, "%s\n", text);
  }
}

/// A tuning file with the hash of what was read.
struct ReadFile {
  explicit ReadFile(const std::string& path) : ReadFile(path, tuning_text(path)) {
    if (const std::string why = changeable_by_others(path); !why.empty())
      throw usage_error("tuning", "{}: {}", path, why);
  }
  ReadFile(const std::string& path, const std::string& text)
      : tuning(parse_tuning_file(text, path)), hash(hex_text(content_hash(text))) {}
  TuningFile tuning;
  std::string hash;
};

/// Reads a file once in the life of the process, so that communicators made later have the same, whatever is written
/// meanwhile. The lock is of initialisation alone.
std::shared_ptr<const ReadFile> read_once(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const ReadFile>> known;
  const std::lock_guard lock(mutex);
  auto& entry = known[path];
  if (entry == nullptr) entry = std::make_shared<const ReadFile>(path);
  return entry;
}

/// Minor releases of NCCL 2 that ask for a symbol.
struct Releases {
  int first, last;
};

/// Empty where the file is of the NCCL that runs, else why not.
std::string other_release(const TuningFile& tuning, Logger logger, Releases releases) {
  const int expected = nccl_minor(tuning.nccl);
  if (const int version = nccl_version(reinterpret_cast<const void*>(logger)); version != 0) {
    const int major = version / 10000, minor = version / 100 % 100;
    return major == 2 && minor == expected ? "" : fmt::format("NCCL {}.{} runs", major, minor);
  }
  if (expected >= releases.first && expected <= releases.last) return "";
  return fmt::format("an NCCL of 2.{} to 2.{} runs", releases.first, releases.last);
}

std::unique_ptr<const CommunicatorTuner> start(std::size_t ranks, std::size_t nodes, Logger logger,
                                               Constants* constants, Releases releases) {
  const char* const path = std::getenv(file_variable);
  if (path == nullptr || *path == '\0') {
    say(logger, log_info, "octet tuner: OCTET_TUNING_FILE is not set; NCCL's own choices stay");
    return nullptr;
  }
  const auto file = read_once(path);
  const TuningFile& tuning = file->tuning;
  if (const char* const agreed = std::getenv(hash_variable);
      agreed != nullptr && *agreed != '\0' && file->hash != agreed) {
    throw usage_error("tuning", "{}: its hash is {}; expected {}, of {}: the file changed since the ranks compared it",
                      path, file->hash, agreed, hash_variable);
  }
  if (const std::string why = other_release(tuning, logger, releases); !why.empty()) {
    const auto text =
        fmt::format("octet tuner: {} is for NCCL {}, but {}; NCCL's own choices stay", path, tuning.nccl, why);
    say(logger, log_warn, text.c_str());
    return nullptr;
  }
  Constants changed{};
  if (constants != nullptr) changed = *constants;
  const int applied = constants != nullptr ? apply_constants(tuning.constants, changed) : 0;
  std::unique_ptr<const CommunicatorTuner> tuner;
  const bool even = nodes > 0 && ranks % nodes == 0;
  if (even) {
    const CommShape shape{.nodes = static_cast<int>(nodes), .ranks_per_node = static_cast<int>(ranks / nodes)};
    tuner = std::make_unique<const CommunicatorTuner>(tuning, shape);
  }
  const auto text =
      fmt::format("octet tuner: {} ({}, NCCL {}): {} constant(s) and {} choice(s) for {} ranks on {} node(s){}", path,
                  tuning.cluster, tuning.nccl, applied, tuner ? tuner->size() : 0, ranks, nodes,
                  even ? "" : ", which hold different numbers of ranks");
  if (constants != nullptr) *constants = changed;  // nothing fails any more
  say(logger, log_info, text.c_str());
  return tuner;
}

int init(std::size_t ranks, std::size_t nodes, Logger logger, Constants* constants, void** context,
         Releases releases) noexcept {
  if (context != nullptr) *context = nullptr;
  try {
    auto tuner = start(ranks, nodes, logger, constants, releases);
    if (context != nullptr) *context = const_cast<CommunicatorTuner*>(tuner.release());
  } catch (const std::exception& error) {
    const std::string_view what = error.what();
    char text[2048];
    std::snprintf(text, sizeof text, "octet tuner: %.*s; NCCL's own choices stay", static_cast<int>(what.size()),
                  what.data());
    say(logger, log_warn, text);
  } catch (...) {
    say(logger, log_warn, "octet tuner: cannot start; NCCL's own choices stay");
  }
  return success;
}

int init_v4(std::size_t ranks, std::size_t nodes, Logger logger, void** context) noexcept {
  return init(ranks, nodes, logger, nullptr, context, {24, 27});
}

int init_v5(void** context, std::uint64_t, std::size_t ranks, std::size_t nodes, Logger logger, NvlDomains*,
            Constants* constants) noexcept {
  return init(ranks, nodes, logger, constants, context, {28, 29});
}

int init_v6(void** context, std::uint64_t, std::size_t ranks, std::size_t nodes, Logger logger, NvlDomains*,
            Constants* constants) noexcept {
  return init(ranks, nodes, logger, constants, context, {30, 99});
}

int get_coll_info(void* context, Function function, std::size_t bytes, int, float** costs, int algorithms,
                  int protocols, int, int*) noexcept {
  if (context != nullptr) {
    static_cast<const CommunicatorTuner*>(context)->pin(function, bytes, reinterpret_cast<float*>(costs), algorithms,
                                                        protocols);
  }
  return success;
}

int finalize(void* context) noexcept {
  delete static_cast<const CommunicatorTuner*>(context);
  return success;
}

}  // namespace
}  // namespace octet

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): NCCL looks for these names.
[[gnu::visibility("default")]] extern const octet::tuner_abi::TunerV4 ncclTunerPlugin_v4{
    octet::plugin_name, octet::init_v4, octet::get_coll_info, octet::finalize};
[[gnu::visibility("default")]] extern const octet::tuner_abi::TunerV5 ncclTunerPlugin_v5{
    octet::plugin_name, octet::init_v5, octet::get_coll_info, octet::finalize};
[[gnu::visibility("default")]] extern const octet::tuner_abi::TunerV6 ncclTunerPlugin_v6{
    octet::plugin_name, octet::init_v6, octet::get_coll_info, octet::finalize, nullptr};
// NOLINTEND(readability-identifier-naming)
}
