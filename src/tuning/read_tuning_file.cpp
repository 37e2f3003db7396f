// From JSON: the counterpart of write_tuning_file.cpp.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <tuple>

#include "src/base/error.h"
#include "src/tuning/json_object.h"
#include "src/tuning/tuning_file.h"

namespace octet {
namespace {

constexpr int format_version = 1;
constexpr std::int64_t most_bytes = std::int64_t{1} << 50;
constexpr int most_nodes = 1'000'000;
constexpr double most_us = 1e9, least_gbs = 1e-6, most_gbs = 1e6;  // of fits
constexpr int link_count = 3, generation_count = 4, limit_count = 5;

Collective read_collective(JsonObject& row) {
  return row.choice<Collective>("collective", static_cast<int>(Collective::all_reduce) + 1);
}
Algorithm read_algorithm(JsonObject& row) {
  return row.choice<Algorithm>("algorithm", algorithm_count);
}
Protocol read_protocol(JsonObject& row) {
  return row.choice<Protocol>("protocol", protocol_count);
}

Provenance read_provenance(JsonObject from) {
  Provenance to{.created = from.text("created"), .tool = from.text("tool"), .measurements = {}, .notes = {}};
  for (JsonObject& row : from.list("measurements")) {
    to.measurements.push_back(
        {.file = row.text("file"), .rows = row.integer("rows", 0, INT64_MAX), .hash = row.text("hash")});
    row.finish();
  }
  if (from.has("notes")) to.notes = from.texts("notes");
  from.finish();
  return to;
}

double read_latency(JsonObject& row) {
  return row.number("us", TunedConstants::least_us, TunedConstants::most_us);
}

/// The table has an entry for every pair; NCCL reads those alone that some collective has a kernel for.
void require_any_kernel(const JsonObject& row, Algorithm algorithm, Protocol protocol) {
  for (int c = 0; c <= static_cast<int>(Collective::all_reduce); ++c) {
    if (nccl_has(static_cast<Collective>(c), algorithm, protocol)) return;
  }
  throw row.refuse("protocol", fmt::format("another: NCCL has no {} with {}", name_of(algorithm), name_of(protocol)));
}

/// Throws where an earlier row is for the same constant. `key`: the key that the error names.
template <class Row, class Same>
void require_first(const JsonObject& row, const char* key, const std::vector<Row>& earlier, Same same) {
  const auto found = std::find_if(earlier.begin(), earlier.end(), same);
  if (found == earlier.end()) return;
  throw row.refuse(key, fmt::format("a constant that no other row has; row [{}] is for the same",
                                    std::distance(earlier.begin(), found)));
}

TunedBaseLatency read_base_latency(JsonObject& row, const std::vector<TunedBaseLatency>& earlier) {
  const TunedBaseLatency read{read_algorithm(row), read_protocol(row), read_latency(row)};
  require_any_kernel(row, read.algorithm, read.protocol);
  require_first(row, "algorithm", earlier, [&](const TunedBaseLatency& other) {
    return other.algorithm == read.algorithm && other.protocol == read.protocol;
  });
  row.finish();
  return read;
}

TunedHwLatency read_hw_latency(JsonObject& row, const std::vector<TunedHwLatency>& earlier) {
  const TunedHwLatency read{row.choice<TunedLink>("link", link_count), read_algorithm(row), read_protocol(row),
                            read_latency(row)};
  require_any_kernel(row, read.algorithm, read.protocol);
  require_first(row, "algorithm", earlier, [&](const TunedHwLatency& other) {
    return other.link == read.link && other.algorithm == read.algorithm && other.protocol == read.protocol;
  });
  row.finish();
  return read;
}

TunedBandwidth read_bandwidth(JsonObject& row, const std::vector<TunedBandwidth>& earlier) {
  const TunedBandwidth read{row.choice<TunedLimit>("limit", limit_count),
                            row.choice<TunedGeneration>("generation", generation_count),
                            static_cast<int>(row.integer("nodes", 1, 3)),
                            row.number("gbs", TunedConstants::least_gbs, TunedConstants::most_gbs)};
  require_first(row, "limit", earlier, [&](const TunedBandwidth& other) {
    return other.limit == read.limit && other.generation == read.generation && other.nodes == read.nodes;
  });
  row.finish();
  return read;
}

TunedConstants read_constants(JsonObject from) {
  TunedConstants to;
  for (JsonObject& row : from.list("base_latency")) to.base_latency.push_back(read_base_latency(row, to.base_latency));
  for (JsonObject& row : from.list("hw_latency")) to.hw_latency.push_back(read_hw_latency(row, to.hw_latency));
  for (JsonObject& row : from.list("bandwidth")) to.bandwidth.push_back(read_bandwidth(row, to.bandwidth));
  from.finish();
  return to;
}

void require_kernel(const JsonObject& row, Collective collective, Algorithm algorithm, Protocol protocol) {
  if (nccl_has(collective, algorithm, protocol)) return;
  throw row.refuse("algorithm", fmt::format("another: NCCL has no {} by {} with {}", name_of(collective),
                                            name_of(algorithm), name_of(protocol)));
}

TunedFit read_fit(JsonObject& row) {
  TunedFit fit;
  fit.collective = read_collective(row), fit.algorithm = read_algorithm(row), fit.protocol = read_protocol(row);
  require_kernel(row, fit.collective, fit.algorithm, fit.protocol);
  fit.shape.nodes = static_cast<int>(row.integer("nodes", 1, most_nodes));
  fit.shape.ranks_per_node = static_cast<int>(row.integer("ranks_per_node", 1, most_nodes));
  fit.alpha_us = row.number("alpha_us", 0, most_us);
  fit.beta_gbs = row.number("beta_gbs", least_gbs, most_gbs);
  fit.rows = row.integer("rows", 0, INT64_MAX);
  fit.residual = row.number("residual", 0, most_us);
  fit.confidence = row.number("confidence", 0, 1);
  if (row.has("alpha_error_us")) fit.alpha_error_us = row.number("alpha_error_us", 0, most_us);
  if (row.has("beta_error_gbs")) fit.beta_error_gbs = row.number("beta_error_gbs", 0, most_gbs);
  if (row.has("bytes")) std::tie(fit.bytes_from, fit.bytes_to) = row.integers("bytes", 0, most_bytes);
  row.finish();
  return fit;
}

TunedChoice read_choice(JsonObject& row) {
  TunedChoice choice;
  choice.collective = read_collective(row);
  const auto [nodes_from, nodes_to] = row.integers("nodes", 0, most_nodes);
  const auto [bytes_from, bytes_to] = row.integers("bytes", 0, most_bytes);
  if (nodes_from < 1 || (nodes_to != 0 && nodes_to <= nodes_from)) {
    throw row.refuse("nodes", "[from, to] with 1 <= from < to, or to = 0 for no upper limit");
  }
  if (bytes_to != 0 && bytes_to <= bytes_from) {
    throw row.refuse("bytes", "[from, to] with from < to, or to = 0 for no upper limit");
  }
  choice.nodes_from = static_cast<int>(nodes_from), choice.nodes_to = static_cast<int>(nodes_to);
  choice.bytes_from = bytes_from, choice.bytes_to = bytes_to;
  choice.ranks_per_node = static_cast<int>(row.integer("ranks_per_node", 1, most_nodes));
  choice.algorithm = read_algorithm(row), choice.protocol = read_protocol(row);
  require_kernel(row, choice.collective, choice.algorithm, choice.protocol);
  choice.reason = row.text("reason");
  row.finish();
  return choice;
}

template <class T>
bool overlap(T a_from, T a_to, T b_from, T b_to) {
  return (b_to == 0 || a_from < b_to) && (a_to == 0 || b_from < a_to);
}

void refuse_contradictions(const std::vector<TunedChoice>& choices, const std::string& file) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const TunedChoice &a = choices[i], &b = choices[j];
      if (a.collective != b.collective || a.ranks_per_node != b.ranks_per_node ||
          !overlap(a.nodes_from, a.nodes_to, b.nodes_from, b.nodes_to) ||
          !overlap(a.bytes_from, a.bytes_to, b.bytes_from, b.bytes_to)) {
        continue;
      }
      throw usage_error("tuning",
                        "{}: choices[{}] and choices[{}] are for some of the same nodes and bytes; expected one", file,
                        j, i);
    }
  }
}

}  // namespace

TuningFile parse_tuning_file(std::string_view text, const std::string& file) {
  const nlohmann::json whole = parse_json(text, file);
  JsonObject root(whole, file, "");
  root.integer("octet_tuning", format_version, format_version);
  TuningFile tuning{.cluster = root.text("cluster"),
                    .fabric = root.text("fabric"),
                    .nccl = root.text("nccl"),
                    .provenance = read_provenance(root.object("provenance")),
                    .constants = {},
                    .fits = {},
                    .choices = {}};
  if (nccl_minor(tuning.nccl) < 0) throw root.refuse("nccl", "a version of NCCL, such as \"2.28.9\"");
  if (root.has("constants")) tuning.constants = read_constants(root.object("constants"));
  for (JsonObject& row : root.list("fits")) tuning.fits.push_back(read_fit(row));
  for (JsonObject& row : root.list("choices")) tuning.choices.push_back(read_choice(row));
  root.finish();
  refuse_contradictions(tuning.choices, file);
  return tuning;
}

std::string tuning_text(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    throw usage_error("tuning", "{}: there is no such file; expected a tuning file", file);
  }
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream.is_open() || text.str().empty()) {
    throw usage_error("tuning", "{}: is empty or cannot be read; expected a tuning file", file);
  }
  return text.str();
}

TuningFile read_tuning_file(const std::string& file) {
  return parse_tuning_file(tuning_text(file), file);
}

}  // namespace octet
