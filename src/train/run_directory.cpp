#include "src/train/run_directory.h"

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "checkpoints/restore.h"

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

/// Whether the run goes on from what is in the directory; throws where that is not what checkpoint.resume asks for.
bool decide_resume(const RunDirectory& run, const std::string& resume) {
  std::error_code error;
  const bool used = fs::exists(run.metrics(), error);
  const bool saved = fs::exists(run.checkpoints(), error) && !checkpoint::list_checkpoints(run.checkpoints()).empty();
  if (resume == "never" && (used || saved)) {
    throw usage_error("train", "run.dir = {}: holds a run already ({}); choose another directory{}", run.path,
                      used ? "metrics.jsonl" : "checkpoints", saved ? ", or go on with --checkpoint.resume auto" : "");
  }
  if (resume == "must" && !saved) {
    throw usage_error("train", "checkpoint.resume = must: there is no checkpoint in {}", run.checkpoints());
  }
  if (used && !saved) {
    throw usage_error("train",
                      "run.dir = {}: holds a run already (metrics.jsonl) and no checkpoint from which it could go on; "
                      "choose another directory",
                      run.path);
  }
  return saved;
}

}  // namespace

RunDirectory find_run_directory(const RunConfig& config, const std::string& config_name, Communicator& world) {
  RunDirectory run{.path = config.run_dir.empty() ? default_path(config_name) : config.run_dir};
  if (world.rank() == 0) run.resumes = decide_resume(run, config.checkpoint.resume);
  // Rank 0 counts: its date, and what it sees on a shared file system. On the CPU host memory is device memory; on GPUs
  // there is one rank so far.
  std::int32_t length = static_cast<std::int32_t>(run.path.size());
  world.broadcast(&length, 1, DType::i32, 0);
  run.path.resize(static_cast<std::size_t>(length));
  world.broadcast(run.path.data(), length, DType::u8, 0);
  world.broadcast(&run.resumes, 1, DType::u8, 0);
  return run;
}

void write_run_directory(const RunDirectory& run, const std::string& resolved_yaml, const Communicator& world) {
  if (world.rank() != 0) return;
  std::error_code error;
  fs::create_directories(run.path, error);
  if (error) throw usage_error("train", "run.dir = {}: cannot be made: {}", run.path, error.message());
  const std::string temporary = run.config() + ".tmp";  // a resumed run never has half a file
  std::ofstream file(temporary);
  file << resolved_yaml << std::flush;
  file.close();
  if (!file || std::rename(temporary.c_str(), run.config().c_str()) != 0) {
    throw usage_error("train", "run.dir = {}: config.yaml cannot be written there", run.path);
  }
}

}  // namespace octet
