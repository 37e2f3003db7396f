#include "src/train/step/run_settings.h"

#include "src/ops/recipes/recipe_list.h"

namespace octet {
namespace {

/// The dtype in which GEMMs leave gradients of weights: bf16 where that is how they travel, but not from fp32 operands,
/// which leave a GEMM in fp32 on a GPU, and not where a later micro-batch is added to them.
DType gemm_gradient_dtype(const RunConfig& c, int shards) {
  const bool kept = c.parallel.zero == Zero::one && c.train.micro_batches(c.parallel.dp_replicate * shards) > 1;
  const bool narrow = c.parallel.gradient_wire == GradientForm::bf16 && c.precision != Precision::fp32 && !kept;
  return narrow ? DType::bf16 : DType::f32;
}

}  // namespace

SamplerConfig sampler_config(const RunConfig& c) {
  return {.seq_len = c.train.seq_len,
          .global_batch = c.train.global_batch,
          .vocab_size = c.model.vocab_size,
          .seed = c.seed,
          .validation_fraction = c.data.validation_fraction,
          .document_mask = c.data.document_mask,
          .loss_on_first = c.data.loss_on_first,
          .changes = c.data.changes,
          .history = c.data.history,
          .origin = c.data.origin};
}

FsdpOptions fsdp_options(const RunConfig& config, int shards) {
  const bool exchanges = shards > 1 || config.parallel.one_rank_exchange;
  const Zero zero = config.parallel.zero_with(shards);
  const RecipePtr recipe = recipe_of(config.precision, config.float8);
  return {.zero = zero,
          .whole_gradients = config.parallel.whole_gradients == GradientForm::bf16 ? DType::bf16 : DType::f32,
          .float8_all_gather = recipe->gathers_float8(),
          .keep_transposed = recipe->casts_first() && zero != Zero::three && float8_gemm_k_major_on(config.device) &&
                             decided(config.float8.keep_transposed_weights, true),
          .gradient_wire = config.parallel.gradient_wire == GradientForm::bf16 ? DType::bf16 : DType::f32,
          .gemm_gradient_dtype = gemm_gradient_dtype(config, shards),
          .overlap = exchanges && decided(config.parallel.overlap, config.device == DeviceType::cuda),
          .one_rank_exchange = config.parallel.one_rank_exchange};
}

bool exchanges_on_several_streams(const RunConfig& config) {
  const ParallelConfig& p = config.parallel;
  return fsdp_options(config, static_cast<int>(p.dp_shard * p.cp)).overlap || p.async_tp || p.pp > 1;
}

std::string zero_text(const FsdpOptions& fsdp, int shards) {
  if (!exchanges(shards, fsdp)) return fmt::format("zero {}: all is whole, there is one shard", fsdp.zero);
  if (fsdp.zero == Zero::three) return "zero 3: weights gathered and let go around each use";
  if (fsdp.zero == Zero::two) return "zero 2: weights whole during a step";
  return fmt::format("zero 1: weights and gradients ({}) whole during a step",
                     fsdp.whole_gradients == DType::f32 ? "fp32" : "bf16");
}

LlamaSettings llama_settings(const RunConfig& c, int tp_rank) {
  return {.model = c.model,
          .precision = c.precision,
          .float8 = c.float8,
          .micro_batch = c.train.micro_batch,
          .seq_len = c.train.seq_len,
          .tp = {tp_rank, static_cast<int>(c.parallel.tp)},
          .tp_keep_gathered = c.parallel.tp_keep_gathered,
          .async_tp = c.parallel.async_tp,
          .recompute = c.recompute,
          .documents = c.data.document_mask};
}

LlamaSettings llama_settings(const RunConfig& config, const PipelinePlan& plan, const FsdpOptions& fsdp, int tp_rank) {
  LlamaSettings settings = llama_settings(config, tp_rank);
  settings.gemm_gradient_dtype = fsdp.gemm_gradient_dtype;
  settings.stages = plan.stages;
  settings.slots = plan.slots;
  settings.split_backward = config.parallel.pp_schedule == PipelineOrder::zb_h1;
  return settings;
}

}  // namespace octet
