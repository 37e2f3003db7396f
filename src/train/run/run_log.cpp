#include "src/train/run/run_log.h"

#include <numbers>
#include <numeric>

#include "src/base/log.h"
#include "src/base/utc_now.h"
#include "src/comm/agreement.h"
#include "src/comm/failure.h"
#include "src/data/data_identity.h"
#include "src/data/passes.h"
#include "src/metrics/peak.h"
#include "src/metrics/status.h"
#include "src/metrics/step_metrics.h"
#include "src/model/step_costs.h"
#include "src/train/step/run_settings.h"

namespace octet {
namespace {

/// FLOPs of a token in fp8 GEMMs.
double float8_flops(const RunConfig& config, Stream& stream) {
  if (config.precision != Precision::float8) return 0;
  return step_flops(llama_settings(config, 0), stream).float8;
}

}  // namespace

RunLog::RunLog(const RunConfig& config, const RunEnvironment& environment, RunDirectory directory,
               const StartingPoint& from)
    : config_(config),
      environment_(environment),
      directory_(std::move(directory)),
      writes_(environment.control.rank() == 0),
      float8_flops_(float8_flops(config, environment.stream)),
      checkpoint_(from.checkpoint) {
  if (!writes_) return;
  directory_.owner.verify();
  if (directory_.resumes || directory_.begins_again) go_on_from(from);
  metrics_ = std::make_unique<MetricsWriter>(directory_.metrics());
  if (config.tensorboard) events_ = std::make_unique<EventWriter>(directory_.tensorboard(), from.step + 1);
  write_status(directory_.status(), status("running", "", 0, from.step));
}

void RunLog::go_on_from(const StartingPoint& from) {
  const auto before = read_status(directory_.status());
  // A directory that has an imported checkpoint of no step and nothing else has not been started yet.
  const bool is_first = !before && directory_.resumes && from.step == 0;
  restarts_ = before ? before->restarts + 1 : (is_first ? 0 : 1);
  checkpoint_seconds_ = before ? before->checkpoint_seconds : 0;
  const MetricsCut cut = cut_metrics(directory_.metrics(), directory_.discarded_metrics(), from.step);
  if (is_first && cut.discarded == 0) return;
  log::info(
      "restart {}; metrics.jsonl has {} line(s) up to step {}{}", restarts_, cut.kept, from.step,
      cut.discarded == 0 ? "" : fmt::format(", {} of later steps moved to metrics.discarded.jsonl", cut.discarded));
}

RunStatus RunLog::status(std::string state, std::string reason, int exit_code, std::int64_t step) const {
  return {.state = std::move(state),
          .reason = std::move(reason),
          .exit_code = exit_code,
          .step = step,
          .steps = config_.train.steps,
          .restarts = restarts_,
          .checkpoint = checkpoint_,
          .checkpoint_seconds = checkpoint_seconds_};
}

void RunLog::set_data(const Sampler& sampler, std::span<const double> bytes_per_token) {
  sampler_ = &sampler;
  if (!writes_ || config_.data.validation_fraction == 0) return;
  const std::int64_t batches = config_.train.validation_batches;
  const std::int64_t samples =
      batches == 0 ? sampler_->order().validation_samples() : batches * config_.train.global_batch;
  validation_bytes_per_token_ = validation_bytes_per_token(sampler_->order(), samples, bytes_per_token);
  if (!validation_bytes_per_token_) return;
  log::info("data: a token of what is validated on stands for {:.3f} bytes of text", *validation_bytes_per_token_);
}

double RunLog::tokens_of(std::int64_t steps) const {
  return static_cast<double>(steps * config_.train.global_batch * config_.train.seq_len);
}

void RunLog::add_time(const Spent& spent, std::int64_t steps, const StepWork& work) {
  for (Interval* interval : {&since_line_, &all_}) {
    interval->spent += spent;
    interval->steps += steps;
    interval->pairs_of_tokens += work.pairs_of_tokens;
  }
}

void RunLog::warn_if_no_targets(std::int64_t step, const StepWork& work) {
  if (!writes_ || work.targets > 0 || warned_of_targets_) return;
  warned_of_targets_ = true;
  log::warning(
      "step {}: no token counts towards the loss, which is told as 0: with data.loss_on_first = false documents of one "
      "token teach nothing; said once",
      step);
}

std::vector<double> RunLog::passes_done(std::int64_t step) const {
  std::vector<double> made;
  if (sampler_ == nullptr) return made;
  for (const SourcePasses& source : passes_after(*sampler_, step)) made.push_back(source.passes());
  return made;
}

StepMetrics RunLog::metrics_of(const StepResult& result, std::optional<double> validation_loss) const {
  Device& device = environment_.stream.device();
  const Spent& spent = since_line_.spent;
  const double tokens_per_second = tokens_of(since_line_.steps) / spent[Activity::step];
  const double per_rank = tokens_per_second / environment_.control.size();
  const double all_keys = static_cast<double>(config_.train.seq_len);
  const double keys = static_cast<double>(since_line_.pairs_of_tokens) / tokens_of(since_line_.steps);
  const double flops_per_token = config_.model.flops_per_token(keys), flops = per_rank * flops_per_token;
  const std::int64_t memory = device.ledger().total().peak;
  const auto add = [](std::int64_t n, const TensorChecks::Finding& f) { return n + f.count; };
  return {.step = result.step,
          .loss = result.loss,
          .validation_loss = validation_loss,
          .validation_bits_per_byte =
              validation_loss && validation_bytes_per_token_
                  ? std::optional(*validation_loss / std::numbers::ln2 / *validation_bytes_per_token_)
                  : std::nullopt,
          .grad_norm = result.grad_norm,
          .lr = result.lr,
          .tokens = result.step * config_.train.global_batch * config_.train.seq_len,
          .passes = passes_done(result.step),
          .tokens_per_second = tokens_per_second,
          .tokens_per_second_per_rank = per_rank,
          .tflops = flops / 1e12,
          .tflops_unmasked = config_.data.document_mask
                                 ? std::optional(per_rank * config_.model.flops_per_token(all_keys) / 1e12)
                                 : std::nullopt,
          .mfu = mfu_percent(device.name(), flops),
          .mfu_mixed = config_.precision == Precision::float8
                           ? mixed_peak_percent(device.name(), flops, float8_flops_ / flops_per_token)
                           : std::nullopt,
          .memory_bytes = memory,
          .memory_percent = 100.0 * static_cast<double>(memory) / static_cast<double>(device.memory_bytes()),
          .interval_steps = since_line_.steps,
          .step_seconds = spent[Activity::step] / static_cast<double>(since_line_.steps),
          .data_seconds = spent[Activity::data],
          .validation_seconds = spent[Activity::validation],
          .checkpoint_stall_seconds = spent[Activity::checkpoint],
          .wait_seconds = spent[Activity::wait],
          .non_finite = std::accumulate(result.non_finite.begin(), result.non_finite.end(), std::int64_t{0}, add),
          .restarts = restarts_,
          .time = utc_now()};
}

void RunLog::log_step(const StepResult& result, std::optional<double> validation_loss) {
  if (!writes_) return;
  const StepMetrics metrics = metrics_of(result, validation_loss);
  since_line_ = {};
  if (environment_.lease != nullptr) environment_.lease->verify_if_late();  // a line of it is read as the owner's
  record(metrics);
  log::out("{}", console_line(metrics));
}

// A full disk has its own end (checkpoint.max_age); until then it may have room again.
void RunLog::record(const StepMetrics& metrics) {
  const std::optional<Failure> failed = failure_of([&] { metrics_->write(metrics); });
  const std::optional<Failure> failed_too = failure_of([&] {
    if (events_) events_->write(metrics);
  });
  const bool refuses = failed || failed_too;
  if (refuses && !disk_refuses_) {
    log::error("{}; metrics are kept in memory until they can be written", (failed ? failed : failed_too)->text);
  }
  disk_refuses_ = refuses;
}

std::string RunLog::summary() const {
  if (all_.steps == 0) return "";
  const Spent& spent = all_.spent;
  const double tokens = tokens_of(all_.steps);
  return fmt::format(
      "; {} step(s) in {:.2f} s: {} tokens/s with pauses, {} training alone (pauses: data {:.2f} s, validation {:.2f} "
      "s, checkpoints {:.2f} s, waiting to start {:.2f} s)",
      all_.steps, spent.total(), grouped(tokens / spent.total()), grouped(tokens / spent[Activity::step]),
      spent[Activity::data], spent[Activity::validation], spent[Activity::checkpoint], spent[Activity::wait]);
}

void RunLog::log_data_changes(std::int64_t step) const {
  if (!writes_ || sampler_ == nullptr) return;
  for (const std::string& text : changes_begun(*sampler_, step)) log::info("{}", text);
  for (const std::string& text : passes_begun(*sampler_, step)) log::info("{}", text);
}

void RunLog::log_non_finite(const StepResult& result) {
  if (!writes_) return;
  for (const auto& f : result.non_finite) {
    log::warning("step {}: {}", result.step, f.text());
  }
}

void RunLog::log_memory(const MemoryPlan& plan) {
  Device& device = environment_.stream.device();
  log::info("memory after the first step:\n{}", memory_table(plan, &device.ledger()));
  if (device.used_bytes() < 0) return;
  log::info("in use on the device, with CUDA's context and libraries: {:.1f} of {:.1f} MiB",
            static_cast<double>(device.used_bytes()) / 0x1p20, static_cast<double>(device.memory_bytes()) / 0x1p20);
}

void RunLog::sync() {
  if (writes_) metrics_->sync();
}

void RunLog::committed(const checkpoint::SaveReport& report) {
  checkpoint_ = report.path;
  checkpoint_seconds_ = report.stall_seconds + report.write_seconds;
  log::info("checkpoint of step {}: committed, {:.1f} MiB in {:.2f} s, {}", report.step,
            static_cast<double>(report.bytes) / 0x1p20, report.write_seconds, report.path);
  log::info(
      "checkpoint of step {} by phase: {:.3f} s snapshot, {:.3f} s write, fsync and hash, {:.3f} s manifest, {:.3f} s "
      "agreement and commit (training stood still for the first and the last)",
      report.step, report.stall_seconds, report.file_seconds, report.manifest_seconds, report.commit_seconds);
  if (!writes_) return;
  directory_.owner.verify();
  try {
    write_status(directory_.status(), status("running", "", 0, report.step));
  } catch (const Error& e) {
    log::error("{}; it does not name the checkpoint of step {}", e.what(), report.step);
  }
}

void RunLog::end(const std::string& state, const std::string& reason, int exit_code, std::int64_t step) {
  if (!writes_) return;
  directory_.owner.verify();
  if (disk_refuses_) {
    const std::optional<Failure> lost = failure_of([&] { metrics_->sync(); });
    if (lost && state != "failed") throw Error(lost->code, lost->text + "; metrics of the last steps are lost");
    if (lost) log::error("{}; metrics of the last steps are lost", lost->text);
  }
  if (state == "failed") leave_reason(static_cast<ExitCode>(exit_code), reason);
  write_status(directory_.status(), status(state, reason, exit_code, step));
  const std::string line = fmt::format("{} after step {}: {}{}", state, step, reason, summary());
  state == "failed" ? log::error("{}", line) : log::info("{}", line);
  if (exit_code == static_cast<int>(ExitCode::resumable) && !environment_.command.empty()) {
    log::info("to go on: {}", environment_.command);
  }
}

}  // namespace octet
