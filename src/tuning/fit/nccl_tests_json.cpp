// What nccl-tests write with -J: versions 1 to 3 of their file, read from NVIDIA/nccl-tests, src/util.cu at v2.17.3,
// v2.18.5, v2.19.2 and v2.19.6.
#include <algorithm>

#include "src/base/json_reader.h"
#include "src/tuning/fit/benchmark_file.h"
#include "src/tuning/fit/benchmark_run.h"

namespace octet {
namespace {

constexpr double json_half_unit = 5e-7;  // six decimals
constexpr int newest_version = 3;
constexpr std::int64_t most_ranks = 1'000'000;

RunHeader header_of(const JsonReader& whole, std::set<std::string>& gpus) {
  RunHeader header;
  const JsonReader arguments = whole.at("args");
  if (arguments.size() > 0) header.program = arguments.element(0).text();
  for (std::size_t i = 0; i < whole.at("env").size(); ++i) {
    const std::string entry = whole.at("env").element(i).text();
    if (entry.starts_with("NCCL_") || entry.starts_with("OCTET_")) note_environment(entry, header.environment);
  }
  const JsonReader config = whole.at("config");
  const JsonReader devices = config.at("devices");
  // One entry a process, which is that of its first device.
  const std::int64_t most = most_ranks / std::max<std::int64_t>(static_cast<std::int64_t>(devices.size()), 1);
  const std::int64_t threads = config.integer("nthreads", 1, most);
  const auto each = static_cast<int>(threads * config.integer("ngpus", 1, most / threads));
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const JsonReader device = devices.element(i);
    header.ranks[static_cast<int>(device.integer("group", 0, most_ranks))][device.text("hostname")] += each;
    if (device.has("device_info")) gpus.insert(device.text("device_info"));
  }
  return header;
}

void add_row(const JsonReader& result, const char* key, const RunFacts& facts, BenchmarkFile& file) {
  if (!result.has(key)) return;  // null where it was not run
  const JsonReader cells = result.at(key);
  if (cells.has("cpu_time")) {
    throw usage_error("tuning", "{}: times of the CPU's call; expected those of the collective (run without -C)",
                      cells.where());
  }
  PrintedRow row;
  row.bytes = result.integer("size");
  row.microseconds = {cells.number("time"), json_half_unit};
  row.algbw = {cells.number("alg_bw"), json_half_unit};
  row.busbw = {cells.number("bus_bw"), json_half_unit};
  check_row(row, facts, cells.where());
  if (cells.has("nwrong") && cells.number("nwrong") > 0) {
    file.notes.push_back(fmt::format("{}: left out: wrong results ({})", cells.where(), cells.number("nwrong")));
    return;
  }
  file.rows.push_back({facts.collective, facts.algorithm, facts.protocol, facts.shape, row.bytes,
                       row.microseconds.value, std::string_view(key) == "in_place", cells.where(), facts.tuner});
}

}  // namespace

BenchmarkFile read_nccl_tests_json(const std::string& path, std::string_view text, const ReadOptions& options) {
  const nlohmann::json document = parse_json(text, "tuning", path, measurements_in_json);
  const JsonReader whole(document, "tuning", path);
  if (!whole.has("results") || !whole.has("args")) {
    throw usage_error("tuning",
                      "{}: no \"args\" and \"results\"; expected the JSON of nccl-tests (-J) or octet-commbench", path);
  }
  BenchmarkFile file;
  file.path = path;
  file.format = "nccl-tests JSON";
  if (whole.integer("version") < 1 || whole.integer("version") > newest_version) {
    throw usage_error("tuning", "{}: version {} of nccl-tests' file; expected 1 to {}", path, whole.integer("version"),
                      newest_version);
  }
  const std::int64_t code = whole.integer("nccl_version");
  file.nccl = fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
  const RunHeader header = header_of(whole, file.gpus);
  const std::string word = collective_word(header.program);
  if (is_without_algorithms(word)) {
    file.notes.push_back(fmt::format("{}: {} left out: NCCL has no choice of algorithm for it", path, word));
    return file;
  }
  const RunFacts facts = facts_of(header, options, path);
  const JsonReader results = whole.at("results");
  int empty = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const JsonReader result = results.element(i);
    if (result.integer("size") == 0) {
      ++empty;
      continue;
    }
    add_row(result, "out_of_place", facts, file);
    add_row(result, "in_place", facts, file);
  }
  add_pair(header, 0, file);
  if (empty > 0) file.notes.push_back(fmt::format("{}: {} rows of 0 bytes left out", path, empty));
  return file;
}

}  // namespace octet
