#pragma once

#include <string>

#include "src/comm/communicator.h"
#include "src/train/config.h"

namespace octet {

/// Where a run leaves its files.
struct RunDirectory {
  std::string path;
  std::string config() const { return path + "/config.yaml"; }
  std::string metrics() const { return path + "/metrics.jsonl"; }
  std::string tensorboard() const { return path + "/tensorboard"; }
  std::string status() const { return path + "/status.json"; }
  std::string trace(int rank) const { return path + "/trace-rank" + std::to_string(rank) + ".jsonl"; }
};

/// Rank 0 makes the directory (run.dir, else runs/<config name>-<date>) and writes config.yaml; all ranks learn its
/// path. Usage error when it cannot be made or written, or holds another run's metrics. Collective.
RunDirectory make_run_directory(const RunConfig& config, const std::string& config_name,
                                const std::string& resolved_yaml, Communicator& world);

}  // namespace octet
