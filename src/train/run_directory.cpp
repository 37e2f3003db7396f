#include "src/train/run_directory.h"

#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace octet {
namespace {

namespace fs = std::filesystem;

std::string default_path(const std::string& config_name) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char date[32];
  std::strftime(date, sizeof date, "%Y%m%d-%H%M%S", &parts);
  return "runs/" + config_name + "-" + date;
}

void make(const RunDirectory& run, const std::string& resolved_yaml) {
  std::error_code error;
  if (fs::exists(run.metrics(), error)) {
    throw usage_error("train", "run.dir = {}: holds a run already (metrics.jsonl); choose another directory", run.path);
  }
  fs::create_directories(run.path, error);
  if (error) throw usage_error("train", "run.dir = {}: cannot be made: {}", run.path, error.message());
  std::ofstream file(run.config());
  file << resolved_yaml << std::flush;
  if (!file) throw usage_error("train", "run.dir = {}: config.yaml cannot be written there", run.path);
}

}  // namespace

RunDirectory make_run_directory(const RunConfig& config, const std::string& config_name,
                                const std::string& resolved_yaml, Communicator& world) {
  RunDirectory run{config.run_dir.empty() ? default_path(config_name) : config.run_dir};
  if (world.rank() == 0) make(run, resolved_yaml);
  // The date of rank 0 counts. On the CPU host memory is device memory; the path is broadcast before any GPU is used.
  std::int32_t length = static_cast<std::int32_t>(run.path.size());
  world.broadcast(&length, 1, DType::i32, 0);
  run.path.resize(static_cast<std::size_t>(length));
  world.broadcast(run.path.data(), length, DType::u8, 0);
  return run;
}

}  // namespace octet
