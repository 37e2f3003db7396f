#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "src/comm/dry_communicator.h"
#include "src/comm/trace.h"
#include "src/profile/timeline.h"
#include "src/train/step/trainer.h"

namespace octet {

/// The run of one rank, on a device without memory and between groups without ranks: Trainer and model are the real
/// ones, and nothing is computed, sent or read. What they take of memory stands in the ledger, and what they ask of
/// their groups in the trace, as it would in the run; on any machine, for any layout of any size. Main thread only.
class DryRun {
 public:
  /// `config`: its layout is resolved (layout.h). `mesh`: the mesh of that layout; `rank`: the rank of it that is run.
  /// `workspaces`: the device whose kernels say how large workspaces are (kernels/table.h): the CPU, or the run's own.
  /// `log`: is told of the device's work (make_dry_device). `multiprocessors`: those of the run's GPU, where the choice
  /// of its GEMMs depends on them (optimizer.beside_gemms).
  DryRun(const RunConfig& config, const MeshShape& mesh, int rank, DeviceType workspaces, WorkLog* log = nullptr,
         int multiprocessors = 0);

  /// The next training step.
  void step();
  /// The first step and then the second, which is like all that follow; the trace holds that one alone. `between`: is
  /// called when the first is done, while the trace still holds it.
  void second_step(const std::function<void()>& between = [] {});
  void validate() { trainer_.validate(); }

  Trainer& trainer() { return trainer_; }
  const MemoryLedger& ledger() const { return device_->ledger(); }
  CommTrace& trace() { return trace_; }
  const GemmTrace& gemms() const { return gemms_; }
  /// The communicators that the run makes and what they were used for, in the order in which they were made.
  const std::vector<DryGroup>& groups() const { return groups_; }

 private:
  TimelineUnseen unseen_;
  RunConfig config_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::vector<DryGroup> groups_;
  CommTrace trace_;
  GemmTrace gemms_;
  Mesh mesh_;
  DryBatches batches_;
  Trainer trainer_;
  std::int64_t steps_ = 0;  ///< done
};

/// A run's configuration with at most two micro-batches a step: more take no more memory, and are alike from the second
/// on. In a pipeline all of them count.
RunConfig with_two_micro_batches(const RunConfig& config, const MeshShape& mesh);

}  // namespace octet
