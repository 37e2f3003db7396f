// What nccl-tests print. Read from NVIDIA/nccl-tests: src/common.cu at v2.0.0, v2.9.0, v2.10.0, v2.13.0 to v2.17.2, and
// src/util.cu at v2.17.3 to v2.19.6.
#include <regex>

#include "src/base/error.h"
#include "src/cluster/machine/text_lines.h"
#include "src/tuning/fit/benchmark_file.h"
#include "src/tuning/fit/text_table.h"

namespace octet {
namespace {

/// 22809 -> "2.28.9"; before 2.9 the minor number had one digit less.
std::string version_text(int code) {
  return code >= 10000 ? fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100)
                       : fmt::format("{}.{}.{}", code / 1000, code / 100 % 10, code % 100);
}

class TextReader {
 public:
  TextReader(std::string path, const ReadOptions& options) : options_(options) {
    file_.path = std::move(path);
    file_.format = "nccl-tests text";
    header_.program = file_.path.find("_perf") == std::string::npos ? "" : file_.path;
  }

  void read(std::string_view line, int number) {
    where_ = fmt::format("{}:{}", file_.path, number);
    line = without_label(line);
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos) return;
    if (table_ && line[first] >= '0' && line[first] <= '9') return read_row(line);
    if (TextTable::has_names(line)) return begin_table(line);
    if (line.find("Out of bounds values") != std::string_view::npos) return end_table(line);
    read_header(line);
  }

  BenchmarkFile finish() {
    close_table();
    return std::move(file_);
  }

 private:
  void note(const std::string& text) { file_.notes.push_back(where_ + ": " + text); }

  /// A line before the table: the first of its kind behind a table begins another run.
  void read_header(std::string_view line) {
    constexpr std::size_t longest =
        4096;  // of what nccl-tests and NCCL print; std::regex takes stack for each character
    if (line.size() > longest) return;
    static const std::regex rank(
        R"(^\s*#\s+Rank\s+\d+(?:\s+Group\s+(\d{1,9}))?\s+Pid\s+\d+\s+on\s+(\S+)\s+device\b.*)");
    static const std::regex program(R"(([a-z_]+_perf))");
    static const std::regex library(R"(nccl-library=(\d{1,9})(?!\d))");
    static const std::regex own_version(R"(\bNCCL version (\d+\.\d+\.\d+))");  // NCCL's, with NCCL_DEBUG=VERSION
    static const std::regex commbench(R"(^\s*# octet-commbench \S+ (\w+) \()");
    std::cmatch match;
    const char* const end = line.data() + line.size();
    const bool mark = line.find("# nccl-tests version") != std::string_view::npos ||
                      line.find("# Collective test starting:") != std::string_view::npos ||
                      line.find("# nThread") != std::string_view::npos;
    if (mark && had_table_) begin_run();
    if (std::regex_search(line.data(), end, match, library)) take_version(version_text(std::stoi(match[1])));
    if (std::regex_search(line.data(), end, match, own_version)) take_version(match[1]);
    if (std::regex_search(line.data(), end, match, commbench) && match[1] != "NCCL") {
      throw usage_error("tuning", "{}: measured over {}; expected NCCL, whose tuning this is", where_, match[1].str());
    }
    if (std::regex_match(line.data(), end, match, rank)) {
      if (had_table_) begin_run();
      ++header_.ranks[match[1].matched ? std::stoi(match[1]) : 0][match[2]];
      file_.gpus.insert(trimmed(line.substr(line.rfind(']') + 1)));
    } else if (line.find("_perf") != std::string_view::npos && line.find("concluded") == std::string_view::npos &&
               std::regex_search(line.data(), end, match, program)) {
      if (had_table_) begin_run();
      header_.program = match[1];
    }
    read_environment(line);
  }

  /// NCCL's own lines are about the run that prints them, a script's about all that follow.
  void read_environment(std::string_view line) {
    const bool of_run =
        line.find("set by environment") != std::string_view::npos || line.find("NCCL INFO") != std::string_view::npos;
    if (of_run) {
      note_environment(line, header_.environment);
    } else if (note_environment(line, script_)) {
      if (had_table_) begin_run();
      header_.environment = script_;
    }
  }

  void begin_run() {
    close_table();
    had_table_ = false;
    header_.ranks.clear();
    header_.environment = script_;
  }

  void take_version(const std::string& version) {
    if (!file_.nccl.empty() && file_.nccl != version) {
      throw usage_error("tuning", "{}: a run with NCCL {} in a file of NCCL {}; give them in files of their own",
                        where_, version, file_.nccl);
    }
    file_.nccl = version;
  }

  void begin_table(std::string_view line) {
    close_table();
    had_table_ = true;
    if (line.find(" p95 ") != std::string_view::npos) {
      return note("octet-commbench's own columns left out: give the file of its --json");
    }
    const std::string word = collective_word(header_.program);
    if (is_without_algorithms(word)) return note(word + " left out: NCCL has no choice of algorithm for it");
    table_.emplace(line, where_);
    facts_ = facts_of(header_, options_, where_);
    first_row_ = file_.rows.size();
    empty_rows_ = 0;
  }

  void end_table(std::string_view line) {
    if (table_ && line.find("FAILED") != std::string_view::npos) note("the benchmark counted wrong results");
    ended_ = true;
    close_table();
  }

  void close_table() {
    if (table_) {
      add_pair(header_, first_row_, file_);
      if (!ended_) note("the table before this line has no summary: its run did not finish");
      if (empty_rows_ > 0) note(fmt::format("{} rows of 0 bytes left out in the table before this line", empty_rows_));
    }
    table_.reset();
    ended_ = false;
  }

  void read_row(std::string_view line) {
    const TextTable::Line parsed = table_->parse(line, where_);
    if (parsed.cells.front().row.bytes == 0) {
      ++empty_rows_;
      return;
    }
    for (const TextTable::Cells& cells : parsed.cells) {
      check_row(cells.row, facts_, where_);
      if (table_->is_wrong(cells.wrong, parsed.type, where_)) {
        note(fmt::format("{} left out: wrong results ({})", cells.in_place ? "in place" : "out of place", cells.wrong));
        continue;
      }
      file_.rows.push_back({facts_.collective, facts_.algorithm, facts_.protocol, facts_.shape, cells.row.bytes,
                            cells.row.microseconds.value, cells.in_place, where_, facts_.tuner});
    }
  }

  ReadOptions options_;
  BenchmarkFile file_;
  RunHeader header_;
  ForcedByEnvironment script_;  ///< what holds for the runs to come
  std::optional<TextTable> table_;
  RunFacts facts_;
  std::size_t first_row_ = 0;  ///< of the table
  int empty_rows_ = 0;
  bool had_table_ = false;  ///< this run's table has begun
  bool ended_ = false;      ///< and its summary was seen
  std::string where_;
};

}  // namespace

BenchmarkFile read_nccl_tests_text(const std::string& path, std::string_view text, const ReadOptions& options) {
  TextReader reader(path, options);
  const bool labelled = has_word_labels(text);
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    reader.read(labelled ? without_word_label(line) : line, ++number);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return reader.finish();
}

}  // namespace octet
