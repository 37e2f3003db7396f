#pragma once

#include "src/base/options/schema.h"
#include "src/run_config/run_config.h"

namespace octet {

// The sections of a run's options, bound to the fields of the configuration; declare_options joins them.

inline constexpr double most_steps = 1e9;
inline constexpr double most_sequences = 1 << 24;
inline constexpr double most_ranks = 1 << 20;
inline constexpr double most_ctas = 64;  // NCCL's MAXCHANNELS

void declare_init(Schema& schema, InitConfig& c);
void declare_train(Schema& schema, TrainConfig& c);
void declare_data(Schema& schema, DataConfig& c);
void declare_optimizer(Schema& schema, OptimizerConfig& c);
void declare_schedule(Schema& schema, ScheduleConfig& c);
void declare_parallel(Schema& schema, ParallelConfig& c);
void declare_nccl(Schema& schema, NcclSettings& c);
void declare_float8(Schema& schema, Float8Config& c);
void declare_recompute(Schema& schema, RecomputeConfig& c);
void declare_checkpoint(Schema& schema, CheckpointConfig& c);
void declare_machine(Schema& schema, RunConfig& c);
void declare_cuda(Schema& schema, RunConfig& config);

}  // namespace octet
