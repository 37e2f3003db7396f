#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <functional>
#include <vector>

#include "src/base/error.h"
#include "src/base/options/text.h"
#include "src/tuning/cost_model/nccl_machine.h"

namespace octet {
namespace {

double to_number(std::string_view name, std::string_view text, double least) {
  double value = 0;
  if (parse(text, value) && value >= least) return value;
  throw usage_error("tuning", "machine: {}={}: expected a number of at least {}", name, text, least);
}

int to_count(std::string_view name, std::string_view text) {
  const double value = to_number(name, text, 1);
  if (value > 64 || value != static_cast<int>(value)) {
    throw usage_error("tuning", "machine: {}={}: expected a whole number of 1 to 64", name, text);
  }
  return static_cast<int>(value);
}

bool to_switch(std::string_view name, std::string_view text) {
  if (text == "1" || text == "0") return text == "1";
  throw usage_error("tuning", "machine: {}={}: expected 1 or 0", name, text);
}

template <class Enum, std::size_t count>
Enum to_enum(std::string_view name, std::string_view text, const std::array<std::string_view, count>& words) {
  for (std::size_t i = 0; i < count; ++i) {
    if (words.at(i) == text) return static_cast<Enum>(i);
  }
  throw usage_error("tuning", "machine: {}={}: expected one of {}", name, text, fmt::join(words, ", "));
}

constexpr std::array<std::string_view, generation_count> generations{"volta", "ampere", "hopper", "blackwell"};
constexpr std::array<std::string_view, 3> vendors{"intel", "amd", "other"};
constexpr double least_rate = 0.1;

struct Field {
  std::string_view name;
  std::function<void(NcclMachine&, std::string_view name, std::string_view text)> set;
};

const std::vector<Field>& fields() {
  using View = std::string_view;
  static const std::vector<Field> all{
      {"generation", [](auto& m, View n, View t) { m.generation = to_enum<GpuGeneration>(n, t, generations); }},
      {"cpu", [](auto& m, View n, View t) { m.cpu = to_enum<CpuVendor>(n, t, vendors); }},
      {"gpus", [](auto& m, View n, View t) { m.gpus = to_count(n, t); }},
      {"nics", [](auto& m, View n, View t) { m.nics = to_count(n, t); }},
      {"nvlink-gbs", [](auto& m, View n, View t) { m.nvlink_gbs = to_number(n, t, least_rate); }},
      {"nic-gbs", [](auto& m, View n, View t) { m.nic_gbs = to_number(n, t, least_rate); }},
      {"net-latency-us", [](auto& m, View n, View t) { m.net_latency_us = to_number(n, t, 0); }},
      {"net-overhead-us", [](auto& m, View n, View t) { m.net_overhead_us = to_number(n, t, 0); }},
      {"nvls", [](auto& m, View n, View t) { m.nvls = to_switch(n, t); }},
      {"sharp", [](auto& m, View n, View t) { m.sharp = to_switch(n, t); }},
      {"ll128", [](auto& m, View n, View t) { m.ll128 = to_switch(n, t); }},
      {"balanced-tree", [](auto& m, View n, View t) { m.balanced_tree = to_switch(n, t); }},
  };
  return all;
}

}  // namespace

void set_field(NcclMachine& machine, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string_view name = assignment.substr(0, equals);
  for (const Field& field : fields()) {
    if (equals == std::string_view::npos || field.name != name) continue;
    field.set(machine, name, assignment.substr(equals + 1));
    return;
  }
  std::vector<std::string_view> names;
  for (const Field& field : fields()) names.push_back(field.name);
  throw usage_error("tuning", "machine: \"{}\": expected NAME=VALUE with one of the names {}", assignment,
                    fmt::join(names, ", "));
}

}  // namespace octet
