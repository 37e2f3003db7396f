#include "src/tuning/fit/benchmark_run.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "src/base/error.h"
#include "src/tuning/robust.h"

namespace octet {
namespace {

// Programs of nccl-tests; of names that end alike the longer one first.
constexpr std::array<std::string_view, 5> tuned{"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"};
constexpr std::array<std::string_view, 6> untuned{"alltoall", "alltoallv", "sendrecv",
                                                  "gather",   "scatter",   "hypercube"};

constexpr double slack = 0.01;  // beyond rounding: programs round their own intermediate values

template <class Enum>
std::optional<Enum> agreed(std::optional<Enum> said, std::optional<Enum> option, std::string_view option_name,
                           std::string_view where) {
  if (said && option && *said != *option) {
    throw usage_error("tuning", "{}: the file says {}, but {} says {}", where, name_of(*said), option_name,
                      name_of(*option));
  }
  return said ? said : option;
}

/// Ranks by host of the run's first group; all groups must look like it.
CommShape shape_in_file(const RunHeader& header, std::string_view where) {
  const auto& hosts = header.ranks.begin()->second;
  const int per_host = hosts.begin()->second;
  for (const auto& [group, others] : header.ranks) {
    const bool even = std::all_of(others.begin(), others.end(), [&](const auto& h) { return h.second == per_host; });
    if (!even || others.size() != hosts.size()) {
      throw usage_error("tuning", "{}: the ranks are not spread evenly; expected as many on every host of every group",
                        where);
    }
  }
  return {static_cast<int>(hosts.size()), per_host};
}

CommShape shape_of(const RunHeader& header, const ReadOptions& options, std::string_view where) {
  CommShape shape{options.nodes, options.ranks_per_node};
  if (header.ranks.empty()) {
    if (shape.nodes < 1 || shape.ranks_per_node < 1) {
      throw usage_error("tuning", "{}: the file does not list its ranks; give --nodes and --ranks-per-node", where);
    }
    return shape;
  }
  const CommShape said = shape_in_file(header, where);
  if (shape.nodes == 0 && shape.ranks_per_node == 0) return said;
  // Host names may repeat (containers), so the options decide how the ranks lie, but not how many there are.
  if (shape.nodes == 0) shape.nodes = said.ranks() / shape.ranks_per_node;
  if (shape.ranks_per_node == 0) shape.ranks_per_node = said.ranks() / shape.nodes;
  if (shape.ranks() != said.ranks()) {
    throw usage_error("tuning", "{}: {} nodes of {} ranks asked for, but the file lists {} ranks on {} hosts", where,
                      shape.nodes, shape.ranks_per_node, said.ranks(), said.nodes);
  }
  return shape;
}

Collective collective_of(const RunHeader& header, const ReadOptions& options, std::string_view where) {
  std::optional<Collective> said;
  const std::string word = collective_word(header.program);
  if (!word.empty()) said = parse_collective(word);
  const auto found = agreed(said, options.collective, "--collective", where);
  if (!found) {
    throw usage_error("tuning",
                      "{}: the collective is not named (no \"Collective test starting\", no program *_perf); "
                      "give --collective",
                      where);
  }
  return *found;
}

}  // namespace

std::optional<Printed> parse_printed(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  const std::string_view digits = text.substr(0, text.find_first_of("eE"));
  int exponent = 0;
  if (digits.size() < text.size()) {
    std::string_view tail = text.substr(digits.size() + 1);
    if (tail.starts_with('+')) tail.remove_prefix(1);
    std::from_chars(tail.data(), tail.data() + tail.size(), exponent);
  }
  const std::size_t point = digits.find('.');
  const int decimals = point == std::string_view::npos ? 0 : static_cast<int>(digits.size() - point - 1);
  return Printed{value, 0.5 * std::pow(10.0, exponent - decimals)};
}

std::string collective_word(std::string_view program) {
  std::string_view name = program.substr(program.find_last_of('/') + 1);  // npos + 1 is 0
  const std::size_t end = name.find("_perf");
  if (end == std::string_view::npos) return "";
  name = name.substr(0, end);
  // A file's name may have more in front: "16-nodes-all_reduce_perf.txt".
  for (const auto& names : {std::span<const std::string_view>(tuned), std::span<const std::string_view>(untuned)}) {
    for (const std::string_view known : names) {
      if (name.ends_with(known)) return std::string(known);
    }
  }
  return std::string(name);
}

bool is_without_algorithms(std::string_view word) {
  return std::find(untuned.begin(), untuned.end(), word) != untuned.end();
}

RunFacts facts_of(const RunHeader& header, const ReadOptions& options, std::string_view where) {
  RunFacts facts;
  facts.collective = collective_of(header, options, where);
  facts.algorithm =
      agreed(forced_algorithm(header.environment.algorithm, facts.collective), options.algorithm, "--algo", where);
  facts.protocol =
      agreed(forced_protocol(header.environment.protocol, facts.collective), options.protocol, "--proto", where);
  // The others have one protocol.
  const bool several = facts.algorithm == Algorithm::ring || facts.algorithm == Algorithm::tree;
  if (facts.algorithm && !several && !facts.protocol) facts.protocol = Protocol::simple;
  facts.shape = shape_of(header, options, where);
  facts.tuner = tuner_of(header.environment);
  if (facts.shape.ranks() < 2) throw usage_error("tuning", "{}: one rank; a collective needs at least 2", where);
  return facts;
}

void add_pair(const RunHeader& header, std::size_t first_row, BenchmarkFile& file) {
  if (header.ranks.size() != 1 || header.ranks.begin()->second.size() != 2 || first_row == file.rows.size()) return;
  const auto first = file.rows.begin() + static_cast<std::ptrdiff_t>(first_row);
  const auto by_bytes = [](const Measurement& a, const Measurement& b) { return a.bytes < b.bytes; };
  const Measurement& largest = *std::max_element(first, file.rows.end(), by_bytes);
  std::vector<double> times;
  for (auto row = first; row != file.rows.end(); ++row) {
    if (row->bytes == largest.bytes) times.push_back(row->microseconds);
  }
  const auto& hosts = header.ranks.begin()->second;
  file.pairs.push_back({hosts.begin()->first, hosts.rbegin()->first, median(std::move(times)),
                        fmt::format("{} of {} bytes", name_of(largest.collective), largest.bytes)});
}

void check_row(const PrintedRow& row, const RunFacts& facts, std::string_view where) {
  const auto& [bytes, time, algbw, busbw] = row;
  if (time.value <= 0) throw usage_error("tuning", "{}: a time of {} us; expected more than 0", where, time.value);
  const double least = static_cast<double>(bytes) / 1e3 / (time.value + time.half_unit);
  const double most = static_cast<double>(bytes) / 1e3 / std::max(time.value - time.half_unit, 1e-9);
  if (algbw.value + algbw.half_unit < least * (1 - slack) || algbw.value - algbw.half_unit > most * (1 + slack)) {
    throw usage_error("tuning", "{}: {} bytes in {} us are {:.2f} GB/s, but algbw is {}; the row is damaged", where,
                      bytes, time.value, static_cast<double>(bytes) / 1e3 / time.value, algbw.value);
  }
  const double factor = bus_factor(facts.collective, facts.shape.ranks());
  const double rounding = busbw.half_unit + factor * algbw.half_unit;
  if (std::abs(busbw.value - factor * algbw.value) > rounding + slack * busbw.value) {
    throw usage_error("tuning",
                      "{}: busbw {} is {:.3f} times algbw {}; expected {:.3f} of {} on {} ranks. Is that the "
                      "collective, and are these all ranks?",
                      where, busbw.value, busbw.value / algbw.value, algbw.value, factor, name_of(facts.collective),
                      facts.shape.ranks());
  }
}

}  // namespace octet
