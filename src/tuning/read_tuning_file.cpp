// From JSON: the counterpart of write_tuning_file.cpp.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/json_reader.h"
#include "src/tuning/tuning_file.h"

namespace octet {
namespace {

constexpr int format_version = 1;
constexpr std::int64_t most_bytes = std::int64_t{1} << 50;
constexpr int most_nodes = 1'000'000;
constexpr double most_us = 1e9, least_gbs = 1e-6, most_gbs = 1e6;  // of fits

Provenance read_provenance(const JsonReader& from) {
  Provenance to{.created = from.text("created"), .tool = from.text("tool"), .measurements = {}, .notes = {}};
  for (const JsonReader& row : from.list_or_none("measurements")) {
    to.measurements.push_back(
        {.file = row.text("file"), .rows = row.integer("rows", 0, INT64_MAX), .hash = row.text("hash")});
    row.finish();
  }
  if (from.contains("notes")) to.notes = from.at("notes").texts();
  from.finish();
  return to;
}

double read_latency(const JsonReader& row) {
  return row.number("us", TunedConstants::least_us, TunedConstants::most_us);
}

/// The table has an entry for every pair; NCCL reads those alone that some collective has a kernel for.
void require_any_kernel(const JsonReader& row, Algorithm algorithm, Protocol protocol) {
  for (int c = 0; c <= static_cast<int>(Collective::all_reduce); ++c) {
    if (nccl_has(static_cast<Collective>(c), algorithm, protocol)) return;
  }
  throw row.at("protocol")
      .refuse(fmt::format("another: NCCL has no {} with {}", name_of(algorithm), name_of(protocol)));
}

/// Throws where an earlier row is for the same constant. `key`: the key that the error names.
template <class Row, class Same>
void require_first(const JsonReader& row, const char* key, const std::vector<Row>& earlier, Same same) {
  const auto found = std::find_if(earlier.begin(), earlier.end(), same);
  if (found == earlier.end()) return;
  throw row.at(key).refuse(
      fmt::format("a constant that no other row has; row [{}] is for the same", std::distance(earlier.begin(), found)));
}

TunedBaseLatency read_base_latency(const JsonReader& row, const std::vector<TunedBaseLatency>& earlier) {
  const TunedBaseLatency read{row.choice<Algorithm>("algorithm"), row.choice<Protocol>("protocol"), read_latency(row)};
  require_any_kernel(row, read.algorithm, read.protocol);
  require_first(row, "algorithm", earlier, [&](const TunedBaseLatency& other) {
    return other.algorithm == read.algorithm && other.protocol == read.protocol;
  });
  row.finish();
  return read;
}

TunedHwLatency read_hw_latency(const JsonReader& row, const std::vector<TunedHwLatency>& earlier) {
  const TunedHwLatency read{row.choice<TunedLink>("link"), row.choice<Algorithm>("algorithm"),
                            row.choice<Protocol>("protocol"), read_latency(row)};
  require_any_kernel(row, read.algorithm, read.protocol);
  require_first(row, "algorithm", earlier, [&](const TunedHwLatency& other) {
    return other.link == read.link && other.algorithm == read.algorithm && other.protocol == read.protocol;
  });
  row.finish();
  return read;
}

TunedBandwidth read_bandwidth(const JsonReader& row, const std::vector<TunedBandwidth>& earlier) {
  const TunedBandwidth read{row.choice<TunedLimit>("limit"), row.choice<TunedGeneration>("generation"),
                            static_cast<int>(row.integer("nodes", 1, 3)),
                            row.number("gbs", TunedConstants::least_gbs, TunedConstants::most_gbs)};
  require_first(row, "limit", earlier, [&](const TunedBandwidth& other) {
    return other.limit == read.limit && other.generation == read.generation && other.nodes == read.nodes;
  });
  row.finish();
  return read;
}

TunedConstants read_constants(const JsonReader& from) {
  TunedConstants to;
  for (const JsonReader& row : from.list_or_none("base_latency"))
    to.base_latency.push_back(read_base_latency(row, to.base_latency));
  for (const JsonReader& row : from.list_or_none("hw_latency"))
    to.hw_latency.push_back(read_hw_latency(row, to.hw_latency));
  for (const JsonReader& row : from.list_or_none("bandwidth"))
    to.bandwidth.push_back(read_bandwidth(row, to.bandwidth));
  from.finish();
  return to;
}

void require_kernel(const JsonReader& row, Collective collective, Algorithm algorithm, Protocol protocol) {
  if (nccl_has(collective, algorithm, protocol)) return;
  throw row.at("algorithm")
      .refuse(fmt::format("another: NCCL has no {} by {} with {}", name_of(collective), name_of(algorithm),
                          name_of(protocol)));
}

/// [from, to]
std::pair<std::int64_t, std::int64_t> read_range(const JsonReader& row, const char* key, std::int64_t most) {
  const std::vector<std::int64_t> range = row.at(key).integers(0, most, 2);
  return {range[0], range[1]};
}

/// As a command line has it: `allreduce` too.
Collective read_collective(const JsonReader& row) {
  for (const std::string_view name : names_of(Collective{})) {
    if (same_name(name, row.text("collective"))) return *value_named<Collective>(name);
  }
  return row.choice<Collective>("collective");
}

TunedFit read_fit(const JsonReader& row) {
  TunedFit fit;
  fit.collective = read_collective(row), fit.algorithm = row.choice<Algorithm>("algorithm"),
  fit.protocol = row.choice<Protocol>("protocol");
  require_kernel(row, fit.collective, fit.algorithm, fit.protocol);
  fit.shape.nodes = static_cast<int>(row.integer("nodes", 1, most_nodes));
  fit.shape.ranks_per_node = static_cast<int>(row.integer("ranks_per_node", 1, most_nodes));
  fit.alpha_us = row.number("alpha_us", 0, most_us);
  fit.beta_gbs = row.number("beta_gbs", least_gbs, most_gbs);
  fit.rows = row.integer("rows", 0, INT64_MAX);
  fit.residual = row.number("residual", 0, most_us);
  fit.confidence = row.number("confidence", 0, 1);
  if (row.contains("alpha_error_us")) fit.alpha_error_us = row.number("alpha_error_us", 0, most_us);
  if (row.contains("beta_error_gbs")) fit.beta_error_gbs = row.number("beta_error_gbs", 0, most_gbs);
  if (row.contains("bytes")) std::tie(fit.bytes_from, fit.bytes_to) = read_range(row, "bytes", most_bytes);
  row.finish();
  return fit;
}

TunedChoice read_choice(const JsonReader& row) {
  TunedChoice choice;
  choice.collective = read_collective(row);
  const auto [nodes_from, nodes_to] = read_range(row, "nodes", most_nodes);
  const auto [bytes_from, bytes_to] = read_range(row, "bytes", most_bytes);
  if (nodes_from < 1 || (nodes_to != 0 && nodes_to <= nodes_from)) {
    throw row.at("nodes").refuse("[from, to] with 1 <= from < to, or to = 0 for no upper limit");
  }
  if (bytes_to != 0 && bytes_to <= bytes_from) {
    throw row.at("bytes").refuse("[from, to] with from < to, or to = 0 for no upper limit");
  }
  choice.nodes_from = static_cast<int>(nodes_from), choice.nodes_to = static_cast<int>(nodes_to);
  choice.bytes_from = bytes_from, choice.bytes_to = bytes_to;
  choice.ranks_per_node = static_cast<int>(row.integer("ranks_per_node", 1, most_nodes));
  choice.algorithm = row.choice<Algorithm>("algorithm"), choice.protocol = row.choice<Protocol>("protocol");
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
  const nlohmann::json whole = parse_json(text, "tuning", file, "a tuning file in JSON");
  const JsonReader root(whole, "tuning", file);
  root.integer("octet_tuning", format_version, format_version);
  TuningFile tuning{.cluster = root.text("cluster"),
                    .fabric = root.text("fabric"),
                    .nccl = root.text("nccl"),
                    .provenance = read_provenance(root.at("provenance")),
                    .constants = {},
                    .fits = {},
                    .choices = {}};
  if (nccl_minor(tuning.nccl) < 0) throw root.at("nccl").refuse("a version of NCCL, such as \"2.28.9\"");
  if (root.contains("constants")) tuning.constants = read_constants(root.at("constants"));
  for (const JsonReader& row : root.list_or_none("fits")) tuning.fits.push_back(read_fit(row));
  for (const JsonReader& row : root.list_or_none("choices")) tuning.choices.push_back(read_choice(row));
  root.finish();
  refuse_contradictions(tuning.choices, file);
  return tuning;
}

std::string tuning_text(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    throw usage_error("tuning", "{}: there is no such file; expected a tuning file", file);
  }
  std::string text = text_of_file("tuning", file, "a tuning file");
  if (text.empty()) throw usage_error("tuning", "{}: is empty; expected a tuning file", file);
  return text;
}

std::string changeable_by_others(const std::string& file) {
  const auto open_to_all = [](const std::string& path, mode_t mode) {
    return fmt::format(
        "others can change it: {} has mode {:04o}; expected a file that only its owner and group can "
        "write to: chmod o-w {}",
        path, mode & 07777, path);
  };
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(file, error);
  struct stat found {};
  if (error || ::stat(real.c_str(), &found) != 0) return "";
  if ((found.st_mode & S_IWOTH) != 0) return open_to_all(real, found.st_mode);
  const uid_t owner = found.st_uid;
  for (std::filesystem::path folder = real.parent_path();; folder = folder.parent_path()) {
    if (::stat(folder.c_str(), &found) == 0 && (found.st_mode & S_IWOTH) != 0) {
      if ((found.st_mode & S_ISVTX) == 0) return open_to_all(folder, found.st_mode);
      if (owner != ::geteuid() && owner != 0) {
        return fmt::format(
            "it is of user {} in {}, where everybody can put files; expected a file of yours or of the "
            "system's, or one in a folder that others cannot write to",
            owner, folder.string());
      }
    }
    if (folder == folder.parent_path()) return "";
  }
}

TuningFile read_tuning_file(const std::string& file) {
  return parse_tuning_file(tuning_text(file), file);
}

}  // namespace octet
