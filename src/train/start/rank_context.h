#pragma once

#include <string>

#include "src/comm/mesh.h"
#include "src/comm/trace.h"
#include "src/comm/wait_meter.h"
#include "src/ops/gemm_trace.h"
#include "src/profile/timeline.h"
#include "src/train/start/reporting_failure.h"
#include "src/train/start/run_directory.h"

namespace octet {

/// What a run writes its traces into: the first two when comm.trace is set, the timeline when train.profile is.
struct Traces {
  CommTrace* communication = nullptr;
  GemmTrace* gemms = nullptr;
  Timeline* timeline = nullptr;
};

/// What a rank of a run has been given: with whom it speaks, where it computes and what it writes into.
struct RankContext {
  Mesh& mesh;
  Communicator& control;  ///< the CPU side of all ranks, in the mesh's order (src/comm/control_exchange.h)
  Stream& stream;
  Traces traces;
  WaitMeter* waits = nullptr;  ///< of the mesh's groups, if they are metered
  int ranks_on_node = 1;
  std::string node;           ///< of this rank, for messages
  std::string resolved_yaml;  ///< config.yaml of the run
  RunDirectory directory{};
  OwnerLease* lease = nullptr;  ///< of the directory, on rank 0; null where nobody else can start there
  std::string bindings{};       ///< bindings.txt: which CPUs each rank keeps to, a line a rank; rank 0 has all
  std::string command{};        ///< that started this run, and goes on with it; empty: not known

  FailureContext failure_context() const {
    return {.control = control, .lease = lease, .on_gpu = stream.device().type() == DeviceType::cuda};
  }
};

}  // namespace octet
