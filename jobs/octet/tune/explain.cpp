// octet tune explain: what NCCL would choose for one collective, why, and what speed to expect.
#include <algorithm>
#include <optional>

#include "jobs/octet/commands.h"
#include "jobs/octet/tune/explain_output.h"
#include "jobs/octet/tune/option_values.h"
#include "jobs/octet/tune/tools.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/options/byte_size.h"
#include "src/base/options/text.h"
#include "src/cluster/profile.h"
#include "src/tuning/cost_model/size_text.h"
#include "src/tuning/explain/tuned.h"

namespace octet::tune {
namespace {

constexpr std::string_view explain_usage =
    "usage: octet tune explain --collective NAME --size BYTES --nodes N [OPTIONS]\n\n"
    "Evaluates NCCL's own cost model: the algorithm and protocol that it would choose, what the others would cost and\n"
    "why some cannot be had, the bus bandwidth to expect as nccl-tests shows it, and what each NIC sends. With\n"
    "--measured it says whether that value is healthy, 85 % of the model's value with 30 us for the launch, and ends\n"
    "with 76 where it is not.\n"
    "Sizes are those of nccl-tests: the whole vector of all_reduce, what all_gather leaves, what reduce_scatter "
    "takes.\n";

struct Options {
  ProfileOverrides overrides;
  std::string collective, size, cluster, nccl, tuning_file, measured;
  std::vector<std::string> machine;
  int nodes = 0, ranks_per_node = 0;
  bool json = false;
};

void declare(Schema& schema, Options& o) {
  schema.add("collective", o.collective)
      .required()
      .help("One of all_reduce, all_gather, reduce_scatter, broadcast, reduce.");
  schema.add("size", o.size).required().help("Bytes; K, M, G and T are powers of 1024.");
  add_count(schema, "nodes", o.nodes).required().help("Nodes of the communicator.");
  add_count(schema, "ranks-per-node", o.ranks_per_node).help("Its ranks on each; default: one a GPU.");
  schema.add("cluster", o.cluster)
      .help(
          "A name under configs/clusters or a YAML file (--cluster.section.key VALUE changes a key); default: 8 H100 "
          "and 8 NICs of 400 Gb/s a node.");
  schema.add("machine", o.machine)
      .several()
      .help(
          "NAME=VALUE, changes one fact of the node; repeatable: generation, cpu, gpus, nics, nvlink-gbs, nic-gbs, "
          "net-latency-us, net-overhead-us, nvls, sharp, ll128, balanced-tree.");
  schema.add("nccl", o.nccl).help("Its version, 2.27 to 2.30; default: the tuning file's, else 2.28.9.");
  schema.add("tuning-file", o.tuning_file).help("What octet tune fit wrote: its constants, choices and fits count.");
  schema.add("measured", o.measured).help("A measured value to judge: 45us, 1.2ms, or 80GB/s of the bus.");
  schema.add_flag("json", o.json).help("One JSON object on one line.");
}

/// `tuning`: null where there is none.
Question question_of(const Options& o, const TuningFile* tuning) {
  Question question;
  const std::string version = !o.nccl.empty() ? o.nccl : tuning != nullptr ? tuning->nccl : "2.28.9";
  question.version = value_of(o.nccl.empty() ? "the NCCL of --tuning-file" : "--nccl", version, parse_nccl_version);
  question.constants = default_constants(question.version);
  if (!o.cluster.empty()) question.machine = machine_of(read_profile(o.cluster, o.overrides));
  for (const std::string& assignment : o.machine) set_field(question.machine, assignment);
  question.collective = value_of("--collective", o.collective, parse_collective);
  question.shape = {o.nodes, o.ranks_per_node > 0 ? o.ranks_per_node : question.machine.gpus};
  question.bytes = parse_bytes(o.size, "--size");
  return question;
}

std::string source_of(const Options& o) {
  const std::string base = o.cluster.empty() ? "8 H100 and 8 NICs of 400 Gb/s" : "cluster " + o.cluster;
  return o.machine.empty() ? base : base + ", changed by --machine";
}

/// NCCL's model knows a node's cards and nothing of the switches behind them.
std::string of_the_network(const NetworkProfile& network, const Question& asked) {
  std::vector<std::string> thin;
  const auto add = [&](const char* what, double ratio, std::int64_t nodes) {
    const bool below_one = nodes > 0 && asked.shape.nodes <= nodes;
    const std::string of = nodes > 0 ? fmt::format(" of {} nodes", nodes) : "";
    if (ratio <= 1) return;
    thin.push_back(
        fmt::format("{}{} oversubscribed {:g}:1{}", what, of, ratio, below_one ? ", but one could hold the job" : ""));
  };
  add("leaves", network.oversubscription, network.leaf_nodes);
  add("pods", network.pod_oversubscription, network.pod_nodes);
  if (thin.empty()) return "";
  return fmt::format(
      "no link between switches is shared, which NCCL's model does not know ({}); octet tune placement says what the "
      "choice and order of nodes cost there",
      joined(thin, "; "));
}

/// What the figures between nodes take for granted of a cluster.
void add_of_cluster(const Options& o, const Question& asked, std::vector<std::string>& all) {
  const ClusterProfile profile = read_profile(o.cluster, o.overrides);
  const int nodes = asked.shape.nodes;
  if (const std::string network = of_the_network(profile.network, asked); !network.empty()) all.push_back(network);
  if (profile.nodes.count > 0 && nodes > profile.nodes.count) {
    all.push_back(
        fmt::format("that the cluster has {} nodes; nodes.count of its profile is {}", nodes, profile.nodes.count));
  }
  const bool told = std::ranges::any_of(o.machine, [](const std::string& m) { return m.starts_with("nic-gbs="); });
  const char* missing = profile.nics.per_node == 0 ? "nics.per_node" : profile.nics.gbps == 0 ? "nics.gbps" : nullptr;
  if (missing != nullptr && !told) {
    all.push_back(fmt::format("{} NICs of {:g} GB/s a node: {} of the profile is 0, and there is no --machine nic-gbs",
                              asked.machine.nics, asked.machine.nic_gbs, missing));
  }
}

std::vector<std::string> assumptions_of(const Options& o, const Question& asked) {
  std::vector<std::string> all;
  if (!o.cluster.empty() && asked.shape.nodes > 1) add_of_cluster(o, asked, all);
  if (!search_is_known(asked.version)) {
    all.push_back(
        "the channels that NCCL 2.29 would search out, whose search 2.30 rewrote; compare them with those of its log "
        "or "
        "of NCCL_GRAPH_DUMP_FILE (octet tune topology --graph)");
  }
  return all;
}

/// Says so where the file is of another cluster than the one asked for.
std::string source_of(const TuningFile& tuning, const Options& o) {
  std::string text =
      fmt::format("{}, of cluster {} ({}), NCCL {}", o.tuning_file, tuning.cluster, tuning.fabric, tuning.nccl);
  if (!o.cluster.empty() && read_profile(o.cluster, o.overrides).name != tuning.cluster) {
    log::warning("--tuning-file {}, and not of {}: its choices and times need not hold there", text, o.cluster);
  }
  return text;
}

}  // namespace

int run_explain(const std::vector<std::string>& arguments) {
  Options o;
  std::vector<std::string> words = arguments;
  o.overrides = take_profile_overrides(words);
  Schema schema;
  declare(schema, o);
  if (!parse_words(words, explain_usage, schema)) return 0;
  check_overrides(o.cluster, o.overrides);
  std::optional<TuningFile> tuning;
  if (!o.tuning_file.empty()) tuning = read_tuning_file(o.tuning_file);
  Answer answer{question_of(o, tuning ? &*tuning : nullptr), source_of(o), {}, {}, {}, {}};
  answer.assumptions = assumptions_of(o, answer.question);
  if (tuning) answer.tuning_source = source_of(*tuning, o);
  answer.explanation = tuning ? explain(answer.question, *tuning) : explain(answer.question);
  if (!o.measured.empty()) {
    const Question& asked = answer.question;
    const double us = parse_measured(o.measured, bus_gbs(asked.collective, asked.shape, asked.bytes, 1));
    answer.health = judge(asked, answer.explanation, us);
  }
  o.json ? print_json(answer) : print_text(answer);
  const bool unhealthy = answer.health && (!answer.health->healthy || answer.health->impossible_nic_gbs > 0);
  return static_cast<int>(unhealthy ? ExitCode::unhealthy : ExitCode::finished);
}

}  // namespace octet::tune
