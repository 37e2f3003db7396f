#include "src/metrics/step_metrics.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "src/base/error.h"
#include "src/base/json_reader.h"

namespace octet {
namespace {

using M = StepMetrics;

constexpr MetricField fields[] = {
    {"step", &M::step},
    {"loss", &M::loss, "loss"},
    {"validation_loss", &M::validation_loss, "validation_loss"},
    {"validation_bits_per_byte", &M::validation_bits_per_byte, "validation_bits_per_byte"},
    {"grad_norm", &M::grad_norm, "grad_norm"},
    {"lr", &M::lr, "lr"},
    {"tokens", &M::tokens},
    {"passes", &M::passes, "passes"},
    {"tokens_per_second", &M::tokens_per_second, "tokens_per_second"},
    {"tokens_per_second_per_rank", &M::tokens_per_second_per_rank},
    {"tflops", &M::tflops, "tflops"},
    {"tflops_unmasked", &M::tflops_unmasked},
    {.key = "mfu", .member = &M::mfu, .scalar = "mfu", .null_if_unknown = true},
    {"mfu_mixed", &M::mfu_mixed},
    {.key = "memory_bytes", .member = &M::memory_bytes, .scalar = "memory", .scalar_unit = 0x1p30},
    {.key = "interval_steps", .member = &M::interval_steps, .older_lack_it = true},
    {"step_seconds", &M::step_seconds},
    {"data_seconds", &M::data_seconds},
    {"validation_seconds", &M::validation_seconds},
    {"checkpoint_stall_seconds", &M::checkpoint_stall_seconds},
    {"wait_seconds", &M::wait_seconds},
    {"non_finite", &M::non_finite},
    {"restarts", &M::restarts},
    {"time", &M::time},
};

struct Number {
  std::optional<double> operator()(double x) const { return x; }
  std::optional<double> operator()(std::int64_t x) const { return static_cast<double>(x); }
  template <typename T>
  std::optional<double> operator()(const std::optional<T>& x) const {
    return x ? (*this)(*x) : std::nullopt;
  }
  std::optional<double> operator()(const std::vector<double>& list) const {
    return list.empty() ? std::nullopt : std::optional(std::ranges::max(list));
  }
  std::optional<double> operator()(const std::string&) const { return std::nullopt; }
};

using Json = nlohmann::ordered_json;

template <typename T>
bool is_known(const T&) {
  return true;
}
template <typename T>
bool is_known(const std::optional<T>& value) {
  return value.has_value();
}
bool is_known(const std::vector<double>& list) {
  return !list.empty();
}
bool is_known(const std::string& text) {
  return !text.empty();
}

template <typename T>
Json json_of(const T& value) {
  return value;
}
/// JSON has no NaN; a reader gets null.
Json json_of(double x) {
  return std::isfinite(x) ? Json(x) : nullptr;
}
template <typename T>
Json json_of(const std::optional<T>& value) {
  return value ? json_of(*value) : nullptr;
}

void read(const JsonReader& json, double& value) {
  value = json.number_or_nan();
}
void read(const JsonReader& json, std::int64_t& value) {
  value = json.integer();
}
void read(const JsonReader& json, std::string& value) {
  value = json.text();
}
void read(const JsonReader& json, std::vector<double>& list) {
  for (const JsonReader& element : json.elements()) list.push_back(element.number(0.0));
}
template <typename T>
void read(const JsonReader& json, std::optional<T>& value) {
  read(json, value.emplace());
}

/// A number that a line has and that was not known, for which older versions wrote "unknown".
bool is_unknown(const JsonReader& json) {
  return json.is_null() || (json.is_there() && json.shown() == "\"unknown\"");
}

/// Says whether a line without the field is none; `value` is the field of StepMetrics{}.
template <typename T>
bool is_required(const MetricField& field, const T& value) {
  return field.null_if_unknown || (is_known(value) && !field.older_lack_it);
}

template <typename T>
void read_field(const JsonReader& json, const MetricField& field, T& value) {
  if (!json.is_there() && !is_required(field, value)) return;
  if (field.null_if_unknown && is_unknown(json)) return;
  read(json, value);
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

std::span<const MetricField> metric_fields() {
  return fields;
}

std::optional<double> scalar_of(const StepMetrics& metrics, const MetricField& field) {
  const auto number = std::visit([&](auto member) { return Number{}(metrics.*member); }, field.member);
  return number ? std::optional(*number / field.scalar_unit) : std::nullopt;
}

std::string to_json(const StepMetrics& m) {
  Json line;
  for (const MetricField& field : metric_fields()) {
    const auto add = [&](auto member) {
      if (is_known(m.*member) || field.null_if_unknown) line[field.key] = json_of(m.*member);
    };
    std::visit(add, field.member);
  }
  return line.dump();
}

StepMetrics step_metrics_of(std::string_view text, const std::string& source) {
  const auto json = parse_json(text, "metrics", source, "the metrics of a step");
  const JsonReader line(json, "metrics", source);
  StepMetrics m;
  for (const MetricField& field : metric_fields()) {
    std::visit([&](auto member) { read_field(line.at(field.key), field, m.*member); }, field.member);
  }
  return m;
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
