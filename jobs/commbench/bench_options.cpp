#include "jobs/commbench/bench_options.h"

#include <algorithm>
#include <sstream>

#include "jobs/commbench/nccl_tests_options.h"
#include "jobs/commbench/report.h"
#include "jobs/commbench/sweep_collectives.h"
#include "jobs/run/distribute.h"
#include "src/base/options/arguments.h"
#include "src/base/options/byte_size.h"
#include "src/base/options/document.h"
#include "src/base/options/text.h"
#include "src/base/options/yaml.h"
#include "src/run_config/checks/checks.h"
#include "src/run_config/checks/layout.h"
#include "src/tuning/collective.h"

namespace octet::commbench {
namespace {

const std::vector<std::string> flags = {"help"};

/// As written on the command line.
struct Texts {
  std::string min = "8", max = "64M", pair_size = "4M", collective = "all", config, output;
  std::int64_t ranks_per_gpu = 1;
};

void declare(Schema& schema, Options& o, Texts& t) {
  schema.add("config", t.config).help("A run's YAML file: measure the collectives of its steps, in its groups.");
  schema.add_choice("device", o.device).help("cpu: MPI; cuda: NCCL. With --config the run's, unless given.");
  schema.add("ranks-per-gpu", t.ranks_per_gpu).between(1, 64).help("Ranks that share a GPU, for tests.");
  schema.add_flag("sweep", o.sweep).help("The sweep beside --config or --pairs; without these it is what is measured.");
  schema.add_flag("compare-mpi", o.compare_mpi)
      .help("In the sweep: MPI_Allreduce and so on in turns with ours, and the ratio.");
  schema.add("min", t.min).help("Smallest size of the sweep, in bytes: 8, 64K, 1.5M, 2G (powers of 1024), 5MB.");
  schema.add("max", t.max).help("Largest size of the sweep.");
  schema.add("factor", o.factor).between(2, 1024).help("Factor from one size of the sweep to the next.");
  schema.add("collective", t.collective)
      .help("Collectives of the sweep: all, or some of these, with commas between them: " + joined(collective_names) +
            ".");
  schema
      .add_choice("dtype", o.dtype,
                  {{"float", DType::f32}, {"bfloat16", DType::bf16}, {"int32", DType::i32}, {"uint8", DType::u8}})
      .help("Type of the elements in the sweep, for collectives that do not reduce; reductions are always of float.");
  schema.add_choice("columns", o.columns)
      .help(
          "Columns of the sweep's table. nccl-tests: the columns of nccl-tests, out of place and in place. octet: only "
          "the form that training uses, with the 95th percentile.");
  schema.add("check", o.measure.check)
      .between(0, 1000)
      .help("Passes whose results are compared, before the timed iterations and after them. 0: none.");
  schema.add("warmup", o.measure.warmup).between(0, 100000).help("Iterations before the timed ones.");
  schema.add("iterations", o.measure.iterations).between(1, 1000000).help("Timed iterations of a row.");
  schema.add("row-seconds", o.measure.row_seconds)
      .unit("s")
      .above(0)
      .help(
          "Limit of a row: it has fewer iterations if it would take longer, and if one call takes longer no larger "
          "sizes follow.");
  schema.add_choice("pairs", o.pairs)
      .help("Measure every pair of nodes (all their ranks at once), or of ranks, and name what is slow.");
  schema.add("pair-size", t.pair_size).help("Bytes that a rank sends in the sweep of pairs.");
  schema.add("tolerance", o.tolerance)
      .above(1)
      .help("A node or link is named as slow if it takes at least so many times as long as the others.");
  schema.add("timeout", o.timeout)
      .unit("s")
      .above(0)
      .help("Limit of one operation: if one takes longer, all ranks end, and the message names it.");
  schema.add("json", o.json).help("Write all rows to this file, with where and how they were measured.");
  schema.add("output", t.output).help("The old name of --json.");
}

std::vector<std::string> parse_collectives(const std::string& text) {
  if (text == "all") return collective_names;
  std::vector<std::string> names;
  std::istringstream list(text);
  for (std::string word; std::getline(list, word, ',');) {
    const auto known = std::ranges::find_if(collective_names, [&](const auto& name) { return same_name(name, word); });
    if (known == collective_names.end()) {
      throw usage_error("commbench", "--collective {}: {} is none; expected all, or some of {} with commas between",
                        text, in_quotes(word), joined(collective_names));
    }
    const std::string& name = *known;
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  if (names.empty()) throw usage_error("commbench", "--collective is empty, expected all or names");
  return names;
}

CommandLine parse_run(const Texts& texts, const Options& o, bool device_given, WordsByOwner& words) {
  words.run.insert(words.run.begin() + 1, texts.config.c_str());
  if (device_given) words.run.insert(words.run.end(), {"--device", name_of(o.device).data()});
  const std::string ranks = std::to_string(texts.ranks_per_gpu);
  if (texts.ranks_per_gpu > 1) words.run.insert(words.run.end(), {"--nccl.ranks_per_gpu", ranks.c_str()});
  return parse_command_line(static_cast<int>(words.run.size()), words.run.data());
}

/// A type that no collective of the sweep would have.
void refuse_idle_type(const Options& o) {
  if (!o.sweep || o.dtype == DType::f32 || !std::ranges::all_of(o.collectives, is_reduction)) return;
  throw usage_error("commbench",
                    "--dtype {} with --collective {}: reductions are of float, as in training; expected float, or a "
                    "collective that does not reduce too",
                    type_name(o.dtype), joined(o.collectives, ","));
}

/// Options of what is not measured, which would change nothing.
void refuse_idle(Schema& schema, const Options& o) {
  const auto refuse = [&](std::initializer_list<const char*> names, const char* of, const char* expected) {
    for (const char* name : names) {
      if (!schema.find(name)->is_set()) continue;
      throw usage_error("commbench", "--{} is of {}, which is not measured: expected {} too", name, of, expected);
    }
  };
  if (!o.sweep) refuse({"min", "max", "factor", "collective", "dtype", "columns"}, "the sweep", "--sweep");
  if (!o.sweep && !o.run) refuse({"warmup", "check"}, "the sweep and of --config", "--sweep or --config");
  if (o.device != DeviceType::cuda) refuse({"ranks-per-gpu"}, "NCCL", "--device cuda");
  if (o.pairs == PairsOf::none) refuse({"pair-size", "tolerance"}, "the sweep of pairs", "--pairs nodes or ranks");
}

/// Stages of a pipeline send each other messages between collectives, in groups of their own.
void refuse_stages(const CommandLine& run) {
  const std::int64_t stages = run.config.parallel.pp;
  if (stages == 1) return;
  throw refuse(run.origins, "parallel.pp", stages,
               "what stages send each other is not measured; expected 1. --parallel.pp 1, on as many ranks as a stage "
               "has, measures the collectives between them, and --pairs the messages between two ranks or nodes");
}

}  // namespace

Options parse_options(int argc, const char* const* argv) {
  Options out;
  Texts texts;
  Schema schema;
  declare(schema, out, texts);
  std::vector<std::string> given = without_nccl_tests_options({argv + 1, argv + argc});
  given.insert(given.begin(), "octet-commbench");
  WordsByOwner words = distribute(
      given, {.schema = schema, .flags = flags, .help = "octet-commbench --help and octet-train --help list all"});
  const Arguments own = parse_arguments(schema, flags, static_cast<int>(words.own.size()), words.own.data());
  if (words.file > 0) {
    const char* const file = words.run[words.file];
    throw usage_error("commbench", "{}: expected options alone; a run's file is given as --config {}", in_quotes(file),
                      file);
  }
  apply(own, schema);
  out.help = own.has("help");
  if (out.help) return out;
  if (!texts.output.empty()) {
    if (!out.json.empty())
      throw usage_error("commbench", "--json {}, --output {}: expected one of both", out.json, texts.output);
    out.json = texts.output;
  }
  out.collectives = parse_collectives(texts.collective);
  out.min = parse_bytes(texts.min, "--min");
  out.max = parse_bytes(texts.max, "--max");
  out.pair_size = parse_bytes(texts.pair_size, "--pair-size");
  if (out.max < out.min) throw usage_error("commbench", "--min {} is above --max {}", texts.min, texts.max);
  out.nccl.ranks_per_gpu = texts.ranks_per_gpu;
  if (!texts.config.empty()) {
    out.run = parse_run(texts, out, schema.find("device")->is_set(), words);
    refuse_stages(*out.run);
    out.device = out.run->config.device;
    out.nccl = out.run->config.nccl;
  } else if (words.run.size() > 1) {
    throw usage_error("commbench", "{} is of a run: it needs --config RUN.yaml", words.run[1]);
  }
  out.sweep = out.sweep || (!out.run && out.pairs == PairsOf::none);
  if (out.compare_mpi && (!out.sweep || out.device != DeviceType::cpu)) {
    throw usage_error("commbench", "--compare-mpi compares the sweep over MPI: expected --sweep and --device cpu");
  }
  refuse_idle(schema, out);
  refuse_idle_type(out);
  return out;
}

Options laid_out(Options options, int ranks) {
  if (!options.run) return options;
  options.run->config = laid_out(std::move(options.run->config), ranks, options.run->origins);
  options.nccl = options.run->config.nccl;
  return options;
}

MeshShape mesh_shape(const Options& options, int ranks) {
  return options.run ? mesh_shape(options.run->config.parallel) : MeshShape{.dp_shard = ranks};
}

std::string usage_text() {
  Options options;
  Texts texts;
  Schema schema;
  declare(schema, options, texts);
  return "Measures collectives between the ranks that MPI started, over MPI on CPUs and NCCL on GPUs, and compares\n"
         "every byte of what they bring. Sizes and bandwidths are counted as nccl-tests do.\n\n"
         "Usage: mpiexec -n N octet-commbench [OPTIONS] [--config RUN.yaml [--section.key VALUE]...]\n\n"
         "  mpiexec -n 4 octet-commbench --max 16M                            a sweep of all collectives\n"
         "  mpiexec -n 8 octet-commbench --collective all_reduce -b 8 -e 128M -f 2 -n 50   as all_reduce_perf\n"
         "  mpiexec -n 8 octet-commbench --collective all_gather --dtype bfloat16 --json rows.json\n"
         "  srun --mpi=pmi2 octet-commbench --config run.yaml --device cuda   what the steps of a run send\n"
         "  srun --mpi=pmi2 octet-commbench --pairs nodes --device cuda       which node or link is slow\n"
         "  mpiexec -n 4 octet-commbench --sweep --compare-mpi                against plain MPI, in turns\n\n"
         "  -h, --help     this text\n"
         "  --version      commit, build and libraries\n"
         "  -b -e -f -n -w -c -d -T -J   of nccl-tests: min, max, factor, iterations, warmup, check, dtype, timeout, "
         "json\n\n" +
         help_text(schema) +
         "\nOptions of octet-train (--section.key VALUE) change the run of --config.\n"
         "Exit codes: 0; 64 for a wrong command, 70 when the machine failed it, 71 when a rank was lost or an\n"
         "operation took longer than --timeout, 76 when a result was wrong.\n";
}

}  // namespace octet::commbench
