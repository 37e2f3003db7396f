#include "src/train/run/run_banner.h"

#include "src/base/log.h"
#include "src/comm/mesh_shape.h"
#include "src/data/data_stages.h"
#include "src/data/passes.h"
#include "src/metrics/step_metrics.h"
#include "src/model/exchange_table.h"
#include "src/model/gemm_formats.h"
#include "src/ops/recipes/recipe_list.h"
#include "src/train/run/step_queue.h"
#include "src/train/step/run_settings.h"

namespace octet {
namespace {

/// Millions with a decimal, and below a million all digits.
std::string tokens_text(std::int64_t tokens) {
  const auto number = static_cast<double>(tokens);
  return tokens < 1'000'000 ? grouped(number) : fmt::format("{:.1f}M", number / 1e6);
}

void log_model(const ModelConfig& m) {
  log::info("model {}: {:.2f}M parameters ({} layers, dim {}, {} heads, {} kv heads, ffn {}, vocabulary {})", m.name,
            static_cast<double>(m.parameters()) / 1e6, m.layers, m.dim, m.heads, m.kv_heads, m.ffn_dim, m.vocab_size);
}

void log_layout(const RunConfig& config, const RankContext& context) {
  const MeshShape& mesh = context.mesh.shape();
  const FsdpOptions fsdp = fsdp_options(config, mesh.dp_shard);
  log::info("mesh: {} rank(s) = {}; {}", context.control.size(), layout_text(mesh), zero_text(fsdp, mesh.dp_shard));
  if (fsdp.keep_transposed) log::info("8-bit weights: transposed copies are kept until the optimizer step");
  if (mesh.dp_shard > 1) {
    log::info("gradients between shards: {}, summed in fp32; gathers and reductions {}", config.parallel.gradient_wire,
              fsdp.overlap ? "on streams of their own" : "in line");
  }
  if (fsdp.gemm_gradient_dtype != DType::f32) log::info("gradients of the blocks' linears leave their GEMMs in bf16");
  if (mesh.tp > 1) {
    log::info("tensor parallelism: {}", config.parallel.async_tp ? "parts of gathers and sums travel beside the GEMMs"
                                                                 : "gathers and sums in line");
  }
  if (mesh.pp > 1) log::info("{}", pipeline_text(config, mesh));
}

void log_batch(const RunConfig& config) {
  if (reads_late(config)) log::info("a step's numbers are read when the next one has been launched");
  log::info("batch: {} sequences of {} tokens a step, micro-batches of {} a rank; {} steps, {} tokens in all",
            config.train.global_batch, config.train.seq_len, config.train.micro_batch, config.train.steps,
            tokens_text(config.train.steps * config.train.global_batch * config.train.seq_len));
}

/// Warns where the run trains on longer sequences than the model's file, and so every export, states as the context.
void log_positions(const RunConfig& config, bool warns) {
  if (!warns || config.model.max_positions == 0 || config.train.seq_len <= config.model.max_positions) return;
  log::warning(
      "train.seq_len = {0} is more than max_positions = {1} of the model, which exports will have as "
      "max_position_embeddings; for the longer sequences export with --max-positions {0}",
      config.train.seq_len, config.model.max_positions);
}

/// What is wrong with the data is the same on every rank, of which one says it.
void log_data(const RunConfig& config, const Sampler& sampler, bool warns) {
  for (std::size_t i = 0; i < config.data.train.size(); ++i) {
    const WindowSplit& split = sampler.order().split(static_cast<std::int32_t>(i));
    log::info("data: {}: {} training and {} validation windows", config.data.train[i].path, split.train(),
              split.validation());
  }
  if (warns) {
    for (const std::string& text : too_many_passes(sampler, config.train.steps, config.data.max_passes)) {
      log::warning("{}", text);
    }
    for (const std::string& text : without_effect(sampler, config.train.steps)) log::warning("{}", text);
  }
  for (const std::string& text : stage_texts(config.data)) log::info("data: {}", text);
}

std::string sums_text(const RunConfig& config) {
  const Float8Sums sums = float8_sums(config.float8.accumulate, config.float8.fast_accumulate);
  const bool on_gpu = config.device == DeviceType::cuda;
  if (!on_gpu && !sums.emulate_hopper) return std::string(name_of(config.float8.accumulate));
  const char* fast = !sums.fast_output ? "nowhere" : sums.fast_gradients ? "everywhere" : "in the forward pass alone";
  return fmt::format("{}, with fast accumulation {}", on_gpu ? "the GPU's" : name_of(config.float8.accumulate), fast);
}

void log_precision(const RunConfig& config, const RankContext& context) {
  if (config.precision == Precision::float8) {
    log::info("precision float8: {}; sums of fp8 products {}", float8_recipe(config.float8)->describe(),
              sums_text(config));
  } else {
    log::info("precision {}", name_of(config.precision));
  }
  log::info("formats of the GEMMs:\n{}", gemm_format_table(config.model, config.precision, config.float8));
  if (config.parallel.tp == 1) return;
  for (const EqualBlocks& blocks : equal_blocks(config.model, config.precision, config.float8)) {
    log::info(
        "tensor parallelism in {}:\n{}", blocks.text(),
        exchange_table(llama_settings(config, context.mesh.coordinates().tp), blocks.layers.front(), context.stream));
  }
}

void log_memory_plan(const RunConfig& config, const RankContext& context, const MemoryPlan& plan) {
  log::info("memory plan:\n{}", memory_table(plan, nullptr));
  const MeshShape& mesh = context.mesh.shape();
  if (mesh.pp == 1) return;
  log::info("memory plan of the pipeline's ranks:\n{}",
            pipeline_table(plan_pipeline(config, mesh, context.ranks_on_node, config.device)));
}

}  // namespace

void log_run_banner(const RunConfig& config, const RankContext& context, const MemoryPlan& plan,
                    const std::string& recompute, const Trainer& trainer) {
  log_model(config.model);
  log_layout(config, context);
  log_batch(config);
  log_positions(config, context.control.rank() == 0);
  log_data(config, trainer.sampler(), context.control.rank() == 0);
  log_precision(config, context);
  log::info("recompute, a rank:\n{}", recompute);
  log_memory_plan(config, context, plan);
  log::info("run directory: {}", context.directory.path);
}

}  // namespace octet
