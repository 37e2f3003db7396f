#pragma once

#include <string>

#include "src/data/sampler.h"
#include "src/model/llama.h"
#include "src/parallel/fsdp_options.h"
#include "src/run_config/run_config.h"
#include "src/train/step/pipeline_plan.h"

namespace octet {

// What the options of a run mean for the rooms below: pure functions of a configuration whose layout is resolved.

/// With parallel.gradient_wire `bf16` GEMMs leave gradients in bf16 where nothing is added to them, but for fp32
/// operands. parallel.zero `auto` is 3 when there is more than one shard and no pipeline, else 2.
/// float8.keep_transposed_weights `auto` keeps copies wherever they are of use: whether there is room for them, the
/// memory plan has said before (fit_run).
FsdpOptions fsdp_options(const RunConfig& config, int shards);

/// Says whether the groups of a run work on several streams, as its model does with what exchanges beside it: gathers
/// and reductions, parts of tensor parallelism (parallel.async_tp), a pipeline's messages.
bool exchanges_on_several_streams(const RunConfig& config);

/// Says what these options mean for weights and gradients: "zero 2: weights whole during a step".
std::string zero_text(const FsdpOptions& fsdp, int shards);

/// The settings that decide the order of the run's data.
SamplerConfig sampler_config(const RunConfig& config);

/// The settings of the whole model. `tp_rank`: this rank's place in its tensor-parallel group.
LlamaSettings llama_settings(const RunConfig& config, int tp_rank);
/// The settings of this rank's stages of a pipeline, with the dtype of gradients that its gradient sink takes.
LlamaSettings llama_settings(const RunConfig& config, const PipelinePlan& plan, const FsdpOptions& fsdp, int tp_rank);

}  // namespace octet
