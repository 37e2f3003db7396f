#include "src/train/step/trainer.h"

#include <utility>

#include "src/base/log.h"
#include "src/comm/reductions.h"
#include "src/optim/schedule.h"
#include "src/profile/timeline.h"
#include "src/run_config/checks/obstacles.h"
#include "src/train/step/run_settings.h"

namespace octet {
namespace {

std::int64_t validation_batches(const RunConfig& c, const Batches& batches) {
  if (c.data.validation_fraction <= 0) return 0;
  const std::int64_t all = batches.validation_batches();
  return c.train.validation_batches == 0 ? all : std::min(all, c.train.validation_batches);
}

/// The sums over all ranks, which may not fit 32 bits. So each count travels as two halves of 16 bits, whose sums fit
/// for up to 32,768 ranks.
std::vector<std::int64_t> summed(const std::vector<std::uint32_t>& counts, Communicator& ranks) {
  const std::size_t n = counts.size();
  std::vector<std::int32_t> halves(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    halves[i] = static_cast<std::int32_t>(counts[i] & 0xFFFFu);
    halves[n + i] = static_cast<std::int32_t>(counts[i] >> 16);
  }
  ranks.all_reduce(halves.data(), std::ssize(halves), DType::i32, ReduceOp::sum);
  std::vector<std::int64_t> sums(n);
  for (std::size_t i = 0; i < n; ++i) sums[i] = std::int64_t{halves[n + i]} * 0x10000 + halves[i];
  return sums;
}

}  // namespace

Trainer::Trainer(const RunConfig& config, std::unique_ptr<Sampler> sampler, Mesh& mesh, Communicator& control,
                 Stream& stream, GemmTrace* gemms)
    : Trainer(config, std::move(sampler), nullptr, mesh, control, stream, gemms) {}

Trainer::Trainer(const RunConfig& config, const Batches& batches, Mesh& mesh, Communicator& control, Stream& stream,
                 GemmTrace* gemms)
    : Trainer(config, nullptr, &batches, mesh, control, stream, gemms) {}

Trainer::Trainer(const RunConfig& config, std::unique_ptr<Sampler> sampler, const Batches* batches, Mesh& mesh,
                 Communicator& control, Stream& stream, GemmTrace* gemms)
    : config_(config),
      mesh_(mesh),
      control_(control),
      stream_(stream),
      device_(stream.device()),
      batch_layout_{mesh.dp().rank(), mesh.dp().size(), config.train.micro_batch},
      sampler_(std::move(sampler)),
      batches_(batches == nullptr ? *sampler_ : *batches),
      step_works_(batches_, control),
      validation_batches_(validation_batches(config, batches_)),
      pipeline_plan_(pipeline_plan(config, mesh.shape(), mesh.coordinates().pp)),
      fsdp_(fsdp_options(config, mesh.fsdp().size())),
      model_(llama_settings(config, pipeline_plan_, fsdp_, mesh.tp().rank()), config.optimizer, fsdp_, mesh, stream,
             gemms),
      graphs_(config.graphs, obstacle_to_graphs(config, mesh.fsdp().size(), mesh.tp().size()), stream),
      update_overlap_(config.optimizer, mesh.fsdp().size(),
                      obstacle_to_update_beside(config, mesh.fsdp().size(), mesh.tp().size()), device_),
      loss_sum_(device_, DType::f32, {1}, Purpose::workspace),
      reader_(model_, stream),
      clock_(stream) {
  for (int slot = 0; slot < pipeline_plan_.slots; ++slot) {
    uploads_.push_back(std::make_unique<BatchUpload>(stream, config.train.micro_batch, config.train.seq_len,
                                                     config.data.document_mask));
  }
  if (mesh.shape().pp > 1) {
    pipeline_ = std::make_unique<PipelinedPasses>(
        pipeline_plan_, model_, llama_settings(config, pipeline_plan_, fsdp_, mesh.tp().rank()), mesh, stream);
  }
  model_.initialize(config.seed);
}

void Trainer::launch(std::int64_t step) {
  StepResult result;
  result.step = step;
  result.lr = learning_rate(config_.schedule, config_.optimizer.lr, step, config_.train.steps);
  result.work = step_works_.of(step - 1);
  const float loss_scale = 1.0f / static_cast<float>(std::max<std::int64_t>(result.work.targets, 1));
  model_.begin_step(batches_.micro_batches(batch_layout_), update_overlap_.split().gemms);
  device_.zero(loss_sum(), 4, stream_);
  train_passes([&](std::int64_t m, Batch& batch) { batches_.train_batch(step - 1, batch_layout_, m, batch); },
               loss_scale);
  model_.finish_step(step, result.lr, update_overlap_.decide(graphs_.on()));
  reductions::loss(mesh_).all_reduce(loss_sum(), 1, DType::f32, ReduceOp::sum);
  reader_.take(loss_sum());
  launched_.push_back({std::move(result), clock_.mark(Activity::wait)});
}

void Trainer::join_update() {
  if (!model_.update_under_way()) return;
  clock_.mark(Activity::step);
  model_.join_update();
  clock_.mark(Activity::wait);
}

StepResult Trainer::collect() {
  Reading reading = reader_.read();
  StepResult result = std::move(launched_.front().result);
  result.spent = clock_.take(launched_.front().end);
  launched_.pop_front();
  result.loss = reading.loss_sum / static_cast<double>(std::max<std::int64_t>(result.work.targets, 1));
  result.grad_norm = reading.grad_norm;
  result.skipped = reading.skipped;
  result.counts = std::move(reading.counts);
  return result;
}

MicroBatch Trainer::upload(const ReadBatch& read, std::int64_t micro_batch, int slot, float loss_scale) {
  const StepPartScope part(StepPart::data);
  {
    const HostSpan span("read batch");
    read(micro_batch, batch_);
  }
  const BatchUpload::OnDevice on_device = uploads_[static_cast<std::size_t>(slot)]->upload(batch_);
  return {on_device.tokens.as<std::int32_t>(), on_device.targets.as<std::int32_t>(), loss_scale, loss_sum(),
          on_device.documents};
}

void Trainer::train_passes(const ReadBatch& read, float loss_scale) {
  const ReadBatch read_in_time = [&](std::int64_t m, Batch& batch) {
    clock_.mark(Activity::data);
    read(m, batch);
    clock_.mark(Activity::step);
  };
  if (pipeline_) return pipeline_->train_passes(pipeline_data(read_in_time, loss_scale));
  for (std::int64_t m = 0; m < batches_.micro_batches(batch_layout_); ++m) {
    const MicroBatch batch = upload(read_in_time, m, 0, loss_scale);
    graphs_.run([&] { model_.forward_backward(batch); });
  }
}

void Trainer::validation_passes(const ReadBatch& read) {
  if (pipeline_) return pipeline_->validation_passes(pipeline_data(read, 1.0f));
  for (std::int64_t m = 0; m < batches_.micro_batches(batch_layout_); ++m) {
    model_.evaluate(upload(read, m, 0, 1.0f));
  }
}

/// Stages between the first and the last need nothing of a batch but where its documents begin.
PipelinedPasses::Data Trainer::pipeline_data(const ReadBatch& read, float loss_scale) {
  return [this, read, loss_scale](int micro_batch, int chunk, int slot) -> MicroBatch {
    const UnitRange& units = pipeline_plan_.stages[static_cast<std::size_t>(chunk)];
    const bool reads = units.has(embedding_unit) || units.has(head_unit(config_.model)) || config_.data.document_mask;
    return reads ? upload(read, micro_batch, slot, loss_scale) : MicroBatch{};
  };
}

std::vector<TensorChecks::Finding> Trainer::agree_on_findings(std::vector<std::uint32_t> counts) {
  model_.zero_duplicate_counts(counts);
  return model_.findings(summed(counts, control_));
}

void Trainer::name_non_finite(StepResult& result) {
  result.non_finite = agree_on_findings(result.counts);
}

double Trainer::validate() {
  clock_.mark(Activity::validation);
  device_.zero(loss_sum(), 4, stream_);
  for (std::int64_t b = 0; b < validation_batches_; ++b) {
    validation_passes([&](std::int64_t m, Batch& batch) { batches_.validation_batch(b, batch_layout_, m, batch); });
  }
  reductions::loss(mesh_).all_reduce(loss_sum(), 1, DType::f32, ReduceOp::sum);
  reader_.take(loss_sum());
  Reading reading = reader_.read();
  clock_.mark(Activity::wait);
  const std::int64_t targets = step_works_.validation_targets(validation_batches_);
  const double mean = reading.loss_sum / static_cast<double>(std::max<std::int64_t>(targets, 1));
  if (!std::isfinite(mean)) {
    for (const auto& f : agree_on_findings(std::move(reading.counts))) {
      if (control_.rank() == 0) log::warning("validation: {}", f.text());
    }
  }
  return mean;
}

}  // namespace octet
