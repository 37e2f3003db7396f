#include "src/metrics/step_metrics.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace octet {
namespace {

/// JSON has no NaN; a reader gets null.
nlohmann::ordered_json number(double x) {
  return std::isfinite(x) ? nlohmann::ordered_json(x) : nullptr;
}

const nlohmann::json& member(const nlohmann::json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end()) throw std::invalid_argument(fmt::format("\"{}\" is missing", key));
  return *found;
}

std::invalid_argument wrong(const char* key, const nlohmann::json& found, const char* expected) {
  return std::invalid_argument(fmt::format("\"{}\" is {}, expected {}", key, found.dump(), expected));
}

double real(const nlohmann::json& line, const char* key) {
  const nlohmann::json& value = member(line, key);
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!value.is_number()) throw wrong(key, value, "a number or null");
  return value.get<double>();
}

std::int64_t integer(const nlohmann::json& line, const char* key) {
  const nlohmann::json& value = member(line, key);
  if (!value.is_number_integer()) throw wrong(key, value, "an integer");
  return value.get<std::int64_t>();
}

std::optional<double> optional_real(const nlohmann::json& line, const char* key) {
  return line.contains(key) ? std::optional(real(line, key)) : std::nullopt;
}

/// mfu is there on every line: null where it is not known, for which older versions wrote "unknown".
std::optional<double> mfu_of(const nlohmann::json& line) {
  const nlohmann::json& value = member(line, "mfu");
  return value.is_null() || value == "unknown" ? std::nullopt : std::optional(real(line, "mfu"));
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
  line["grad_norm"] = number(m.grad_norm);
  line["lr"] = m.lr;
  line["tokens"] = m.tokens;
  line["tokens_per_second"] = m.tokens_per_second;
  line["tokens_per_second_per_rank"] = m.tokens_per_second_per_rank;
  line["tflops"] = m.tflops;
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
  return line.dump();
}

StepMetrics step_metrics_of(std::string_view text) {
  const auto line = nlohmann::json::parse(text, nullptr, false);
  if (!line.is_object()) throw std::invalid_argument("no JSON object");
  return {.step = integer(line, "step"),
          .loss = real(line, "loss"),
          .validation_loss = optional_real(line, "validation_loss"),
          .grad_norm = real(line, "grad_norm"),
          .lr = real(line, "lr"),
          .tokens = integer(line, "tokens"),
          .tokens_per_second = real(line, "tokens_per_second"),
          .tokens_per_second_per_rank = real(line, "tokens_per_second_per_rank"),
          .tflops = real(line, "tflops"),
          .mfu = mfu_of(line),
          .mfu_mixed = optional_real(line, "mfu_mixed"),
          .memory_bytes = integer(line, "memory_bytes"),
          .interval_steps = line.contains("interval_steps") ? integer(line, "interval_steps") : 1,
          .step_seconds = real(line, "step_seconds"),
          .data_seconds = real(line, "data_seconds"),
          .validation_seconds = optional_real(line, "validation_seconds"),
          .checkpoint_stall_seconds = optional_real(line, "checkpoint_stall_seconds"),
          .wait_seconds = optional_real(line, "wait_seconds"),
          .non_finite = integer(line, "non_finite"),
          .restarts = line.contains("restarts") ? std::optional(integer(line, "restarts")) : std::nullopt};
}

std::string console_line(const StepMetrics& m) {
  std::string mfu = m.mfu ? fmt::format("{:.1f}%", *m.mfu) : "unknown";
  if (m.mfu_mixed) mfu += fmt::format(" (of mixed peak {:.1f}%)", *m.mfu_mixed);
  std::string line = fmt::format(
      "step: {:>5}  loss: {:8.4f}  grad_norm: {:7.4f}  memory: {:.2f}GiB({:.2f}%)  tps: {}  tflops: {:.3f}  mfu: {}",
      m.step, m.loss, m.grad_norm, static_cast<double>(m.memory_bytes) / 0x1p30, m.memory_percent,
      grouped(m.tokens_per_second_per_rank), m.tflops, mfu);
  if (m.validation_loss) line += fmt::format("  validation_loss: {:.4f}", *m.validation_loss);
  if (m.non_finite > 0) line += fmt::format("  non_finite: {}", m.non_finite);
  return line;
}

void MetricsWriter::write(const StepMetrics& metrics) {
  file_.add(to_json(metrics) + '\n');
}

}  // namespace octet
