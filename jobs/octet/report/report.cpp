#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "jobs/octet/commands.h"
#include "jobs/octet/report/report_parts.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/base/replace_file.h"

namespace octet {
namespace {

constexpr std::string_view report_usage =
    "usage: octet report RUN... [--output FILE]\n\n"
    "Writes one HTML page with the plots of training runs: loss, gradient norm, throughput, learning rate, times, "
    "memory,\n"
    "restarts, and where the time of a step went, where a run was profiled. Several runs are drawn over each other.\n"
    "RUN is a run directory; the run may be going on. The page needs no network and no other file.\n";

constexpr std::string_view mark = "<meta name=\"generator\" content=\"octet report\">";

/// A mistyped --output must not take the place of a file of a run.
void check_replaceable(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::status(path, error);
  if (there.type() == std::filesystem::file_type::not_found) return;
  if (there.type() == std::filesystem::file_type::none) {
    throw usage_error("report", "--output {}: cannot be looked at: {}", path, error.message());
  }
  const bool is_file = std::filesystem::is_regular_file(there);
  std::string head(1024, '\0');
  if (is_file) std::ifstream(path, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
  if (head.find(mark) != std::string::npos) return;
  throw usage_error("report", "--output {}: is there and no page of octet report; choose another name", path);
}

}  // namespace

int run_report(const std::vector<std::string>& arguments) {
  std::vector<std::string> paths;
  std::string output = "report.html";
  const bool can_draw = !report_parts().plot_library.empty();
  Schema schema;
  schema.add("run", paths).required().several().help("Run directory (run.dir of octet-train).");
  schema.add("output", output).letter('o').help("The page; an older one is replaced.");
  const std::string text =
      std::string(report_usage) + (can_draw ? "" : std::string("\n") + std::string(no_plot_library) + "\n");
  if (!parse_words(arguments, text, schema, "run", -1)) return 0;
  check_replaceable(output);
  const std::string page = make_page(report_parts(), report_data(read_runs(paths)));
  if (!replace_file(output, page)) throw not_written("report", "--output " + output);
  log::out("{}: {} run{}, {:.1f} MiB", output, paths.size(), paths.size() == 1 ? "" : "s",
           static_cast<double>(page.size()) / 0x1p20);
  return 0;
}

}  // namespace octet
