#include "src/train/run/run_log.h"

#include <utility>

#include "src/base/log.h"
#include "src/comm/failure.h"
#include "src/data/passes.h"

namespace octet {

RunLog::RunLog(const RunConfig& config, const RankContext& context, RunDirectory directory)
    : config_(config),
      context_(context),
      directory_(std::move(directory)),
      metrics_(directory_),
      status_(directory_, config.train.steps),
      writes_(context.control.rank() == 0),
      throughput_(config, context.control.size(), context.stream.device(), float8_flops(config, context.stream)) {}

void RunLog::begin(const StartingPoint& from) {
  from_ = from.step;
  if (!writes_) return;
  directory_.owner.verify();
  status_.begin(from);
}

void RunLog::open() {
  if (!writes_ || status_.was_finished()) return;
  directory_.owner.verify();
  if (directory_.goes_on()) go_on();
  const bool has_events = config_.tensorboard && from_ < config_.train.steps;
  metrics_.open(has_events ? std::optional(from_ + 1) : std::nullopt);
  status_.tell_restart();
}

void RunLog::go_on() {
  const std::int64_t moved = metrics_.cut(from_);
  if (!status_.count_restart() && moved == 0) return;
  log::info("restart {}, after step {}{}", status_.restarts(), from_,
            moved == 0 ? "" : fmt::format("; {} line(s) of later steps moved to metrics.discarded.jsonl", moved));
}

void RunLog::set_data(const Sampler& sampler, std::span<const double> bytes_per_token) {
  if (!writes_) return;
  sampler_ = &sampler;
  const std::optional<double> bytes = throughput_.set_data(sampler, bytes_per_token);
  if (bytes) log::info("data: a token of what is validated on stands for {:.3f} bytes of text", *bytes);
}

void RunLog::warn_if_no_targets(std::int64_t step, const StepWork& work) {
  if (!writes_ || work.targets > 0 || warned_of_targets_) return;
  warned_of_targets_ = true;
  log::warning(
      "step {}: no token counts towards the loss, which is logged as 0: with data.loss_on_first = false a document of "
      "one token has no target; this is logged once",
      step);
}

void RunLog::log_step(const StepResult& result, std::optional<double> validation_loss) {
  if (!writes_) return;
  const StepMetrics metrics = throughput_.take_line(result, validation_loss, status_.restarts());
  if (context_.lease != nullptr) context_.lease->verify_if_late();  // a line of it is read as the owner's
  metrics_.record(metrics);
  log::out("{}", console_line(metrics));
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
  Device& device = context_.stream.device();
  log::info("memory after the first step:\n{}", memory_table(plan, &device.ledger()));
  if (device.used_bytes() < 0) return;
  log::info("in use on the device, with CUDA's context and libraries: {:.1f} of {:.1f} MiB",
            static_cast<double>(device.used_bytes()) / 0x1p20, static_cast<double>(device.memory_bytes()) / 0x1p20);
}

void RunLog::sync() {
  metrics_.sync();
}

void RunLog::committed(const checkpoint::SaveReport& report) {
  log::info("checkpoint of step {}: committed, {:.1f} MiB in {:.2f} s, {}", report.step,
            static_cast<double>(report.bytes) / 0x1p20, report.write_seconds, report.path);
  log::info(
      "checkpoint of step {} by phase: {:.3f} s snapshot, {:.3f} s write, fsync and hash ({:.3f} s of it reading "
      "back), {:.3f} s manifest, {:.3f} s agreement and commit (training stood still for the first and the last)",
      report.step, report.stall_seconds, report.file_seconds, report.read_back_seconds, report.manifest_seconds,
      report.commit_seconds);
  if (writes_) status_.committed(report);
}

void RunLog::tell_lost_metrics() {
  if (const std::optional<Failure> lost = metrics_.lost()) log::error("{}", lost->text);
}

void RunLog::end(const std::string& state, const std::string& reason, int exit_code, std::int64_t step) {
  if (!writes_) return;
  directory_.owner.verify();
  if (status_.was_finished()) {
    log::info("{} after step {}: {}; nothing was left to do", state, step, reason);
    return;
  }
  if (const std::optional<Failure> lost = metrics_.lost()) {
    if (state != "failed") throw Error(lost->code, lost->text);
    log::error("{}", lost->text);
  }
  if (state == "failed") leave_reason(static_cast<ExitCode>(exit_code), reason);
  status_.write(state, reason, exit_code, step);
  const std::string line = fmt::format("{} after step {}: {}{}", state, step, reason, throughput_.summary());
  state == "failed" ? log::error("{}", line) : log::info("{}", line);
  if (exit_code == static_cast<int>(ExitCode::resumable) && !context_.command.empty()) {
    log::info("to go on: {}", context_.command);
  }
}

}  // namespace octet
