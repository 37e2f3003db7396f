#include "src/tuning/tuning_file.h"

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <tuple>

#include "src/tuning/json_object.h"

namespace octet {
namespace {

constexpr int format_version = 1;
constexpr std::int64_t most_bytes = std::int64_t{1} << 50;
constexpr int most_nodes = 1'000'000;
constexpr double most_us = 1e9, least_gbs = 1e-6, most_gbs = 1e6;

constexpr std::array<std::string_view, 3> links{"nvlink", "pci", "net"};
constexpr std::array<std::string_view, 4> generations{"volta", "ampere", "hopper", "blackwell"};
constexpr std::array<std::string_view, 5> limits{"ll", "ring_ll128", "tree_ll128", "tree", "nvls_tree"};

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

TunedConstants read_constants(JsonObject from) {
  TunedConstants to;
  for (JsonObject& row : from.list("base_latency")) {
    to.base_latency.push_back({read_algorithm(row), read_protocol(row), row.number("us", 0, most_us)});
    row.finish();
  }
  for (JsonObject& row : from.list("hw_latency")) {
    const auto link = row.choice<TunedLink>("link", static_cast<int>(links.size()));
    to.hw_latency.push_back({link, read_algorithm(row), read_protocol(row), row.number("us", 0, most_us)});
    row.finish();
  }
  for (JsonObject& row : from.list("bandwidth")) {
    const auto limit = row.choice<TunedLimit>("limit", static_cast<int>(limits.size()));
    const auto generation = row.choice<TunedGeneration>("generation", static_cast<int>(generations.size()));
    to.bandwidth.push_back(
        {limit, generation, static_cast<int>(row.integer("nodes", 1, 3)), row.number("gbs", least_gbs, most_gbs)});
    row.finish();
  }
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

std::string_view name_of(TunedLink link) {
  return links.at(static_cast<std::size_t>(link));
}

std::string_view name_of(TunedGeneration generation) {
  return generations.at(static_cast<std::size_t>(generation));
}

std::string_view name_of(TunedLimit limit) {
  return limits.at(static_cast<std::size_t>(limit));
}

int nccl_minor(std::string_view version) {
  constexpr std::string_view major = "2.";
  int minor = -1;
  if (!version.starts_with(major)) return -1;
  const char* const end = version.data() + version.size();
  const auto [rest, error] = std::from_chars(version.data() + major.size(), end, minor);
  return error == std::errc() && minor >= 0 && (rest == end || *rest == '.') ? minor : -1;
}

bool nccl_has(Collective collective, Algorithm algorithm, Protocol protocol) {
  const bool any_protocol = algorithm == Algorithm::ring || algorithm == Algorithm::tree;
  if (!any_protocol && protocol != Protocol::simple) return false;
  switch (collective) {
    case Collective::broadcast:
    case Collective::reduce:
      return algorithm == Algorithm::ring;
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return algorithm == Algorithm::ring || algorithm == Algorithm::pat || algorithm == Algorithm::nvls ||
             algorithm == Algorithm::collnet_direct;
    case Collective::all_reduce:
      return algorithm != Algorithm::pat;
  }
  return false;
}

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

TuningFile read_tuning_file(const std::string& file) {
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
  return parse_tuning_file(text.str(), file);
}

std::uint64_t content_hash(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

std::string hash_text(std::uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

}  // namespace octet
