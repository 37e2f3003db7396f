// octet tune fit: measurements of collectives into a cluster's tuning file.
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "jobs/octet/commands.h"
#include "jobs/octet/tune/fit_output.h"
#include "jobs/octet/tune/option_values.h"
#include "jobs/octet/tune/tools.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/base/replace_file.h"
#include "src/base/utc_now.h"

namespace octet::tune {
namespace {

constexpr std::string_view fit_usage =
    "usage: octet tune fit FILE... --cluster NAME [OPTIONS]\n\n"
    "Reads what nccl-tests printed or wrote with -J, and what octet-commbench printed or wrote over NCCL; fits a\n"
    "latency and a rate for each collective, algorithm, protocol and shape, robustly; derives the constants of\n"
    "NCCL's cost model that differ, and pins choices where measurement contradicts the model by more than the\n"
    "noise. --output writes the cluster's tuning file, which the tuner plugin applies. Force each algorithm in a run\n"
    "of its own (NCCL_ALGO, NCCL_PROTO); what a file does not record, options say, for all files of the command.\n";

struct Options {
  ProfileOverrides overrides;
  std::vector<std::string> files;
  std::string cluster, nccl, collective, algorithm, protocol, output;
  int nodes = 0, ranks_per_node = 0;
  bool json = false;
};

void declare(Schema& schema, Options& o) {
  schema.add("files", o.files).required().several().help("Measurements.");
  schema.add("cluster", o.cluster)
      .required()
      .help("A name under configs/clusters or a YAML file; --cluster.section.key VALUE changes a key of it.");
  schema.add("nccl", o.nccl)
      .help("The version measured; default: as the files say. Constants and choices are derived for 2.27 to 2.30.");
  schema.add("collective", o.collective)
      .help("One of all_reduce, all_gather, reduce_scatter, broadcast, reduce; default: as the files say.");
  schema.add("algo", o.algorithm).help("What NCCL_ALGO was set to, where the files do not say.");
  schema.add("proto", o.protocol).help("What NCCL_PROTO was set to, where the files do not say.");
  add_count(schema, "nodes", o.nodes).help("Default: as many as the files name hosts.");
  add_count(schema, "ranks-per-node", o.ranks_per_node).help("Default: the ranks that the files list, over nodes.");
  schema.add("output", o.output).help("The tuning file to write.");
  schema.add_flag("json", o.json).help("One JSON object on one line instead of tables.");
}

ReadOptions read_options(const Options& o) {
  ReadOptions read{
      .collective = {}, .algorithm = {}, .protocol = {}, .nodes = o.nodes, .ranks_per_node = o.ranks_per_node};
  if (!o.collective.empty()) read.collective = value_of("--collective", o.collective, parse_collective);
  if (!o.algorithm.empty()) read.algorithm = value_of("--algo", o.algorithm, parse_algorithm);
  if (!o.protocol.empty()) read.protocol = value_of("--proto", o.protocol, parse_protocol);
  return read;
}

std::vector<BenchmarkFile> read_all(const Options& o) {
  const ReadOptions read = read_options(o);
  std::vector<BenchmarkFile> files;
  for (const std::string& path : o.files) {
    const BenchmarkFile& file = files.emplace_back(read_measurements(path, read));
    log::info("{}: {}, {} rows{}", path, file.format, file.rows.size(), file.nccl.empty() ? "" : ", NCCL " + file.nccl);
  }
  return files;
}

/// Before any work, and never over a measurement.
void check_output(const Options& o) {
  if (o.output.empty()) return;
  for (const std::string& path : o.files) {
    std::error_code none;
    if (std::filesystem::equivalent(path, o.output, none)) {
      throw usage_error("tuning", "--output {}: is one of the measurements, expected another file", o.output);
    }
  }
  if (!can_replace_file(o.output)) {
    throw not_written("tuning", "--output " + o.output);
  }
}

}  // namespace

int run_fit(const std::vector<std::string>& arguments) {
  Options o;
  std::vector<std::string> words = arguments;
  o.overrides = take_profile_overrides(words);
  Schema schema;
  declare(schema, o);
  if (!parse_words(words, fit_usage, schema, "files", -1)) return 0;
  check_output(o);
  const ClusterProfile profile = read_profile(o.cluster, o.overrides);
  ClusterFit fit = fit_cluster(read_all(o), profile, o.nccl);
  Provenance& provenance = fit.tuning.provenance;
  provenance.created = utc_now();
  provenance.tool = "octet " OCTET_VERSION;
  o.json ? print_json(fit) : print_text(fit);
  if (o.output.empty()) return 0;
  if (!fit.has_model) {
    throw usage_error(
        "tuning",
        "--output {}: not written: measured with NCCL {}, expected 2.27 to 2.30, whose tuning such a file "
        "is for",
        o.output, fit.tuning.nccl);
  }
  if (fit.tuning.fits.empty()) {
    throw usage_error("tuning",
                      "{}: not written: no group has both algorithm and protocol and enough rows; run the "
                      "benchmark with NCCL_ALGO and NCCL_PROTO set, or give --algo and --proto",
                      o.output);
  }
  write_tuning_file(o.output, fit.tuning);
  log::info("{}: {} fits, {} constants, {} choices", o.output, fit.tuning.fits.size(), fit.tuning.constants.size(),
            fit.tuning.choices.size());
  return 0;
}

}  // namespace octet::tune
