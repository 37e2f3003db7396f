#pragma once

#include <memory>
#include <string>

#include "src/comm/communicator.h"
#include "src/owner/lease.h"
#include "src/run_config/run_config.h"

namespace octet {

/// Where a run leaves its files.
struct RunDirectory {
  std::string path;
  bool resumes = false;       ///< it holds checkpoints from which the run shall go on
  bool begins_again = false;  ///< it holds an earlier start of this run that ended before its first checkpoint
  OwnerMark owner{};          ///< on every rank; asked before anything in the directory is replaced or cut

  /// It holds an earlier start of this run, after which this one goes on.
  bool goes_on() const { return resumes || begins_again; }

  std::string config() const { return path + "/config.yaml"; }
  std::string model() const { return path + "/model.yaml"; }
  std::string metrics() const { return path + "/metrics.jsonl"; }
  std::string discarded_metrics() const { return path + "/metrics.discarded.jsonl"; }
  std::string tensorboard() const { return path + "/tensorboard"; }
  std::string checkpoints() const { return path + "/checkpoints"; }
  std::string status() const { return path + "/status.json"; }
  std::string gemm_plans() const { return path + "/gemm-plans"; }
  std::string attention_plans() const { return path + "/attention-plans"; }
  /// That says that algorithms of gemm_plans() or attention_plans() have been used.
  std::string gemm_plans_used() const { return path + "/used-gemm-plans"; }
  std::string attention_plans_used() const { return path + "/used-attention-plans"; }
  std::string bindings() const { return path + "/bindings.txt"; }
  std::string stop_file() const { return path + "/stop"; }
  std::string trace(int rank) const { return path + "/trace-rank" + std::to_string(rank) + ".jsonl"; }
  std::string profile() const { return path + "/profile.json"; }
  std::string profile(int rank) const { return path + "/profile-rank" + std::to_string(rank) + ".json"; }
};

/// runs/NAME-DATE, with the local time.
std::string default_run_directory(const std::string& config_name);

/// A run directory that is this run's own: nobody else starts there before rank 0 lets go of the lease.
struct OwnedDirectory {
  RunDirectory run;
  std::unique_ptr<OwnerLease> lease{};  ///< rank 0's
};

/// Rank 0 chooses the directory (run.dir, else runs/<config name>-<date>), makes it, claims it, so that a second start
/// is refused before it reads or touches anything else, and looks at what is there; all ranks learn the result. Usage
/// error on rank 0 when checkpoint.resume does not fit what is there: any run with `never`, no checkpoint with `must`;
/// with `auto` a run without checkpoints that is finished, or is not known to be this one (its config.yaml is missing,
/// or decides another result), and a checkpoint under a name that no run takes (misplaced_checkpoint.h). Throws also as
/// OwnerLease does, and as files::read_together where a host cannot read the directory, does not have one that others
/// have, or does not see there what rank 0 has written. Collective over `control` (src/comm/control_exchange.h).
OwnedDirectory claim_run_directory(const RunConfig& config, const std::string& config_name, Communicator& control);

/// Rank 0 makes the directory, durably, removes what a killed start left half written and writes config.yaml and
/// model.yaml, a model file with the model's shape as it was resolved. Where it cannot, it throws a usage error for a
/// path that is wrong, and an internal one for a full disk or a device that fails.
void write_run_directory(const RunDirectory& run, const std::string& resolved_yaml, const ModelConfig& model,
                         const Communicator& control);

}  // namespace octet
