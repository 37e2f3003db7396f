#include "src/metrics/step_metrics.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <string_view>

#include "src/base/error.h"
#include "src/base/json_reader.h"

namespace octet {
namespace {

/// JSON has no NaN; a reader gets null.
nlohmann::ordered_json number(double x) {
  return std::isfinite(x) ? nlohmann::ordered_json(x) : nullptr;
}

std::optional<double> optional_real(const JsonReader& line, const char* key) {
  const JsonReader value = line.at(key);
  return value.is_there() ? std::optional(value.number_or_nan()) : std::nullopt;
}

/// mfu is there on every line: null where it is not known, for which older versions wrote "unknown".
std::optional<double> mfu_of(const JsonReader& value) {
  const bool unknown = value.is_null() || (value.is_there() && value.shown() == "\"unknown\"");
  return unknown ? std::nullopt : std::optional(value.number());
}

std::vector<double> passes_of(const JsonReader& line) {
  std::vector<double> passes;
  for (const JsonReader& source : line.list_or_none("passes")) passes.push_back(source.number(0.0));
  return passes;
}

}  // namespace

std::string grouped(double value) {
  const std::string digits = fmt::format("{:.0f}", value);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

std::optional<double> wall_seconds(const StepMetrics& m) {
  if (!m.validation_seconds || !m.checkpoint_stall_seconds || !m.wait_seconds) return std::nullopt;
  return static_cast<double>(m.interval_steps) * m.step_seconds + m.data_seconds + *m.validation_seconds +
         *m.checkpoint_stall_seconds + *m.wait_seconds;
}

std::string to_json(const StepMetrics& m) {
  nlohmann::ordered_json line;
  line["step"] = m.step;
  line["loss"] = number(m.loss);
  if (m.validation_loss) line["validation_loss"] = number(*m.validation_loss);
  if (m.validation_bits_per_byte) line["validation_bits_per_byte"] = number(*m.validation_bits_per_byte);
  line["grad_norm"] = number(m.grad_norm);
  line["lr"] = m.lr;
  line["tokens"] = m.tokens;
  if (!m.passes.empty()) line["passes"] = m.passes;
  line["tokens_per_second"] = m.tokens_per_second;
  line["tokens_per_second_per_rank"] = m.tokens_per_second_per_rank;
  line["tflops"] = m.tflops;
  if (m.tflops_unmasked) line["tflops_unmasked"] = *m.tflops_unmasked;
  line["mfu"] = m.mfu ? nlohmann::ordered_json(*m.mfu) : nullptr;
  if (m.mfu_mixed) line["mfu_mixed"] = *m.mfu_mixed;
  line["memory_bytes"] = m.memory_bytes;
  line["interval_steps"] = m.interval_steps;
  line["step_seconds"] = m.step_seconds;
  line["data_seconds"] = m.data_seconds;
  if (m.validation_seconds) line["validation_seconds"] = *m.validation_seconds;
  if (m.checkpoint_stall_seconds) line["checkpoint_stall_seconds"] = *m.checkpoint_stall_seconds;
  if (m.wait_seconds) line["wait_seconds"] = *m.wait_seconds;
  line["non_finite"] = m.non_finite;
  if (m.restarts) line["restarts"] = *m.restarts;
  if (!m.time.empty()) line["time"] = m.time;
  return line.dump();
}

StepMetrics step_metrics_of(std::string_view text, const std::string& source) {
  const auto json = parse_json(text, "metrics", source, "the metrics of a step");
  const JsonReader line(json, "metrics", source);
  return {.step = line.integer("step"),
          .loss = line.at("loss").number_or_nan(),
          .validation_loss = optional_real(line, "validation_loss"),
          .validation_bits_per_byte = optional_real(line, "validation_bits_per_byte"),
          .grad_norm = line.at("grad_norm").number_or_nan(),
          .lr = line.at("lr").number_or_nan(),
          .tokens = line.integer("tokens"),
          .passes = passes_of(line),
          .tokens_per_second = line.at("tokens_per_second").number_or_nan(),
          .tokens_per_second_per_rank = line.at("tokens_per_second_per_rank").number_or_nan(),
          .tflops = line.at("tflops").number_or_nan(),
          .tflops_unmasked = optional_real(line, "tflops_unmasked"),
          .mfu = mfu_of(line.at("mfu")),
          .mfu_mixed = optional_real(line, "mfu_mixed"),
          .memory_bytes = line.integer("memory_bytes"),
          .interval_steps = line.contains("interval_steps") ? line.integer("interval_steps") : 1,
          .step_seconds = line.at("step_seconds").number_or_nan(),
          .data_seconds = line.at("data_seconds").number_or_nan(),
          .validation_seconds = optional_real(line, "validation_seconds"),
          .checkpoint_stall_seconds = optional_real(line, "checkpoint_stall_seconds"),
          .wait_seconds = optional_real(line, "wait_seconds"),
          .non_finite = line.integer("non_finite"),
          .restarts = line.contains("restarts") ? std::optional(line.integer("restarts")) : std::nullopt,
          .time = line.contains("time") ? line.text("time") : ""};
}

std::string console_line(const StepMetrics& m) {
  std::string mfu = m.mfu ? fmt::format("{:.1f}%", *m.mfu) : "unknown";
  if (m.mfu_mixed) mfu += fmt::format(" (of mixed peak {:.1f}%)", *m.mfu_mixed);
  std::string line = fmt::format(
      "step: {:>5}  loss: {:8.4f}  grad_norm: {:7.4f}  memory: {:.2f}GiB({:.2f}%)  tps: {}  tflops: {:.3f}{}  mfu: {}",
      m.step, m.loss, m.grad_norm, static_cast<double>(m.memory_bytes) / 0x1p30, m.memory_percent,
      grouped(m.tokens_per_second_per_rank), m.tflops,
      m.tflops_unmasked ? fmt::format(" (unmasked {:.3f})", *m.tflops_unmasked) : "", mfu);
  if (m.validation_loss) line += fmt::format("  validation_loss: {:.4f}", *m.validation_loss);
  if (m.validation_bits_per_byte) line += fmt::format(" ({:.4f} bits a byte)", *m.validation_bits_per_byte);
  if (m.non_finite > 0) line += fmt::format("  non_finite: {}", m.non_finite);
  return line;
}

void MetricsWriter::write(const StepMetrics& metrics) {
  file_.add(to_json(metrics) + '\n');
}

}  // namespace octet
