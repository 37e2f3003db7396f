#include "src/train/trainer.h"

#include <algorithm>
#include <chrono>

#include "src/optim/schedule.h"

namespace octet {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

SamplerConfig sampler_config(const RunConfig& c) {
  return {.seq_len = c.train.seq_len,
          .global_batch = c.train.global_batch,
          .vocab_size = c.model.vocab_size,
          .seed = c.seed,
          .validation_fraction = c.data.validation_fraction};
}

std::int64_t validation_batches(const RunConfig& c, const Sampler& sampler) {
  if (c.data.validation_fraction <= 0) return 0;
  const std::int64_t all = sampler.validation_batches();
  return c.train.validation_batches == 0 ? all : std::min(all, c.train.validation_batches);
}

}  // namespace

bool reshards(const ParallelConfig& config, int shards) {
  if (config.reshard_after_forward == "auto") return shards > 1;
  return config.reshard_after_forward == "always";
}

LlamaSettings llama_settings(const RunConfig& c) {
  return {.model = c.model,
          .precision = c.precision,
          .float8 = c.float8,
          .micro_batch = c.train.micro_batch,
          .seq_len = c.train.seq_len};
}

Trainer::Trainer(const RunConfig& config, Mesh& mesh, Stream& stream, GemmTrace* gemms)
    : config_(config),
      mesh_(mesh),
      stream_(stream),
      device_(stream.device()),
      kernels_(kernels_of(stream)),
      batch_layout_{mesh.dp().rank(), mesh.dp().size(), config.train.micro_batch},
      sampler_(config.data.train, sampler_config(config)),
      validation_batches_(validation_batches(config, sampler_)),
      model_(llama_settings(config), stream, exchange_, gemms),
      layout_(model_.parameters(), mesh.dp_shard().rank(), mesh.dp_shard().size()),
      master_(layout_, device_, stream, Purpose::parameters),
      gradients_(layout_, device_, stream, Purpose::gradients),
      first_moment_(layout_, device_, stream, Purpose::optimizer),
      second_moment_(layout_, device_, stream, Purpose::optimizer),
      scales_(model_.parameters(), layout_, device_, stream),
      weights_(model_.parameters(), master_, scales_, mesh.dp_shard(), stream,
               {.reshard_after_forward = reshards(config.parallel, mesh.dp_shard().size()),
                .float8_all_gather = config.float8.all_gather}),
      sink_(model_.parameters(), gradients_, mesh.dp_shard(), mesh.dp_replicate(), stream),
      norm_(model_.parameters(), device_, stream),
      tokens_(device_, DType::i32, {config.train.micro_batch, config.train.seq_len}, Purpose::data),
      targets_(device_, DType::i32, {config.train.micro_batch, config.train.seq_len}, Purpose::data),
      loss_sum_(device_, DType::f32, {1}, Purpose::workspace),
      flags_(device_, DType::i32, {2}, Purpose::workspace) {
  initialize(model_.parameters(), master_, config.seed, device_, stream);
  scales_.measure(master_, kernels_);
  scales_.update(mesh.dp_shard(), kernels_);
  for (std::size_t i = 0; i < layout_.size(); ++i) {
    slices_.push_back({.parameter = master_.data(i),
                       .gradient = gradients_.data(i),
                       .first_moment = first_moment_.data(i),
                       .second_moment = second_moment_.data(i),
                       .n = layout_.shard(i).elements(),
                       .decay = decays(config.optimizer, parameters().parameters[i].name),
                       .amax = scales_.amax(i)});
  }
}

Tensor Trainer::upload(const std::vector<std::int32_t>& host, const TensorBuffer& to) {
  device_.copy_from_host(to.view().data, host.data(), to.view().bytes(), stream_);
  return to;
}

StepResult Trainer::train_step(std::int64_t step, int stop_signal) {
  StepResult result;
  result.lr = learning_rate(config_.schedule, config_.optimizer.lr, step, config_.train.steps);
  const float loss_scale = 1.0f / static_cast<float>(config_.train.global_batch * config_.train.seq_len);
  auto* loss_sum = loss_sum_.view().as<float>();
  device_.zero(loss_sum, 4, stream_);

  sink_.begin_step();
  for (std::int64_t m = 0; m < sampler_.micro_batches(batch_layout_); ++m) {
    const auto start = std::chrono::steady_clock::now();
    sampler_.train_batch(step - 1, batch_layout_, m, batch_);
    const Tensor tokens = upload(batch_.tokens, tokens_), targets = upload(batch_.targets, targets_);
    result.data_seconds += seconds_since(start);
    model_.forward_backward(tokens.as<std::int32_t>(), targets.as<std::int32_t>(), loss_scale, loss_sum, weights_,
                            sink_);
  }
  sink_.finish_step();
  optimize(step, result.lr);
  agree(result, stop_signal);
  return result;
}

void Trainer::optimize(std::int64_t step, double lr) {
  norm_.compute(gradients_, mesh_.dp_shard(), static_cast<float>(config_.optimizer.clip_norm));
  adamw_step(stream_, kernels_, config_.optimizer, lr, step, slices_, norm_.factor(), norm_.skip());
  scales_.update(mesh_.dp_shard(), kernels_);
  weights_.invalidate();
}

void Trainer::agree(StepResult& result, int stop_signal) {
  auto* loss_sum = loss_sum_.view().as<float>();
  mesh_.dp().all_reduce(loss_sum, 1, DType::f32, ReduceOp::sum);
  float loss = 0, norm = 0;
  std::uint32_t skip = 0;
  device_.copy_to_host(&loss, loss_sum, 4, stream_);
  device_.copy_to_host(&norm, norm_.norm(), 4, stream_);
  device_.copy_to_host(&skip, norm_.skip(), 4, stream_);
  std::vector<TensorChecks::Finding> found = findings();  // waits for the stream

  std::int32_t flags[2] = {found.empty() ? 0 : 1, stop_signal};
  auto* device_flags = flags_.view().as<std::int32_t>();
  device_.copy_from_host(device_flags, flags, sizeof flags, stream_);
  mesh_.world().all_reduce(device_flags, 2, DType::i32, ReduceOp::max);
  device_.copy_to_host(flags, device_flags, sizeof flags, stream_);
  stream_.synchronize();

  result.loss = loss / static_cast<double>(config_.train.global_batch * config_.train.seq_len);
  result.grad_norm = norm;
  result.skipped = skip != 0;
  result.stop_signal = flags[1];
  if (flags[0] != 0) result.non_finite = shared_findings();
}

std::vector<TensorChecks::Finding> Trainer::findings() {
  std::vector<TensorChecks::Finding> found = model_.checks().read(stream_);
  std::vector<std::uint32_t> counts(layout_.size());
  device_.copy_to_host(counts.data(), norm_.non_finite(), static_cast<std::int64_t>(counts.size()) * 4, stream_);
  stream_.synchronize();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const ParameterSpec& p = parameters().parameters[i];
    if (counts[i] != 0) {
      found.push_back({parameters().units[static_cast<std::size_t>(p.unit)], "gradient of " + p.name, counts[i]});
    }
  }
  return found;
}

std::vector<TensorChecks::Finding> Trainer::shared_findings() {
  mesh_.world().all_reduce(model_.checks().all(), model_.checks().size(), DType::i32, ReduceOp::sum);
  mesh_.world().all_reduce(norm_.non_finite(), static_cast<std::int64_t>(layout_.size()), DType::i32, ReduceOp::sum);
  std::vector<TensorChecks::Finding> all = findings();
  model_.checks().reset(stream_);
  norm_.reset_counters();
  return all;
}

double Trainer::validate() {
  auto* loss_sum = loss_sum_.view().as<float>();
  device_.zero(loss_sum, 4, stream_);
  for (std::int64_t b = 0; b < validation_batches_; ++b) {
    for (std::int64_t m = 0; m < sampler_.micro_batches(batch_layout_); ++m) {
      sampler_.validation_batch(b, batch_layout_, m, batch_);
      const Tensor tokens = upload(batch_.tokens, tokens_), targets = upload(batch_.targets, targets_);
      model_.evaluate(tokens.as<std::int32_t>(), targets.as<std::int32_t>(), loss_sum, weights_);
    }
  }
  mesh_.dp().all_reduce(loss_sum, 1, DType::f32, ReduceOp::sum);
  float loss = 0;
  device_.copy_to_host(&loss, loss_sum, 4, stream_);
  stream_.synchronize();
  return loss / static_cast<double>(sampler_.validation_targets(validation_batches_));
}

}  // namespace octet
