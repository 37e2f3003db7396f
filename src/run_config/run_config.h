#pragma once

#include <cstdint>
#include <string>

#include "checkpoints/save/checkpoint_config.h"
#include "kernels/cpu_settings.h"
#include "kernels/cuda_settings.h"
#include "src/cluster/core_binding.h"
#include "src/comm/nccl_settings.h"
#include "src/data/batches.h"
#include "src/data/data_config.h"
#include "src/device/device.h"
#include "src/model/config.h"
#include "src/model/recompute.h"
#include "src/ops/precision.h"
#include "src/optim/optimizer_config.h"
#include "src/optim/schedule_config.h"
#include "src/parallel/parallel_config.h"

namespace octet {

struct TrainConfig {
  std::int64_t steps = 1000;
  std::int64_t seq_len = 2048;
  std::int64_t global_batch = 8;        ///< sequences a step over all ranks
  std::int64_t micro_batch = 1;         ///< sequences a forward pass of one data-parallel rank
  std::int64_t validate_every = 0;      ///< steps; 0: only at the end
  std::int64_t validation_batches = 8;  ///< global batches a validation; 0: the whole split
  std::int64_t log_every = 1;
  std::string profile = "off";        ///< off, or the steps "A-B" whose time is recorded (option_texts.h)
  std::int64_t slow_rank_every = 50;  ///< steps between comparisons; 0: never (slow_ranks.h)
  double slow_rank_factor = 1.2;
  double health_seconds = 30;                   ///< between two readings of the GPU; 0: never (device_health.h)
  AutoBool late_results = AutoBool::automatic;  ///< automatic: on a GPU (step_queue.h)
  std::string max_wall_time = "0";              ///< minutes or H:MM:SS since the start; 0: none (option_texts.h)

  /// The micro-batches of a step on each of so many data-parallel ranks. Usage error as micro_batches_of.
  std::int64_t micro_batches(std::int64_t data_parallel) const {
    return micro_batches_of(global_batch, {.ranks = data_parallel, .micro_batch = micro_batch});
  }
};

struct CommConfig {
  double timeout_seconds = 600;              ///< of an operation in a step
  double start_timeout_seconds = 1800;       ///< of one before the second step
  double checkpoint_timeout_seconds = 1800;  ///< of one while checkpoints are written or read
  bool trace = false;  ///< write every collective and GEMM to trace-rankN.jsonl in the run directory
};

struct CpuConfig {
  cpu::GemmInputChoice gemm = cpu::GemmInputChoice::automatic;  ///< of bf16 and fp8 GEMMs, and bf16 attention
  std::int64_t threads = 0;  ///< OpenMP threads a rank; 0: OMP_NUM_THREADS, else cores / ranks on the node
  CoreBinding bind = CoreBinding::automatic;
};

struct InitConfig {
  std::string from;  ///< folder of weights that a new run begins with (initial_weights.h); empty: random ones
};

/// Everything that decides a run. Declared to the option schema in src/run_config.
struct RunConfig {
  std::string model_name;  ///< name under configs/models or a path
  ModelConfig model;
  Precision precision = Precision::bf16;
  DeviceType device = DeviceType::cpu;
  std::string run_dir;      ///< empty: runs/<config name>-<date>
  bool tensorboard = true;  ///< event files beside metrics.jsonl
  std::uint64_t seed = 1;
  InitConfig init;
  TrainConfig train;
  DataConfig data;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  ParallelConfig parallel;
  Float8Config float8;
  RecomputeConfig recompute;
  CheckpointConfig checkpoint;
  CommConfig comm;
  CpuConfig cpu;
  CudaSettings cuda;
  AutoBool graphs = AutoBool::automatic;  ///< cuda.graphs; automatic: where they pay (pass_graphs.h)
  NcclSettings nccl;
};

}  // namespace octet
