#include <fmt/format.h>

#include <algorithm>

#include "jobs/octet/tune/explain_output.h"
#include "src/base/log.h"
#include "src/tuning/cost_model/size_text.h"

namespace octet::tune {
namespace {

std::string name_of_choice(Algorithm algorithm, Protocol protocol) {
  return fmt::format("{}/{}", name_of(algorithm), name_of(protocol));
}

std::string graph_text(const SearchedGraph& graph) {
  return fmt::format("{} x {:g}/{:g}", graph.channels, graph.intra_gbs, graph.inter_gbs);
}

void print_question(const Answer& answer) {
  const Question& asked = answer.question;
  const NcclMachine& machine = asked.machine;
  const SearchedGraphs graphs = search_graphs(machine, asked.shape);
  log::out("{} of {} over {} nodes x {} ranks, NCCL {}", name_of(asked.collective), size_text(asked.bytes),
           asked.shape.nodes, asked.shape.ranks_per_node, to_text(asked.version));
  log::out("node: {}: {} GPUs at {:g} GB/s, {} NICs at {:g} GB/s", answer.machine_source, machine.gpus,
           machine.nvlink_gbs, machine.nics, machine.nic_gbs);
  if (!answer.tuning_source.empty()) log::out("tuning file: {}", answer.tuning_source);
  log::out("channels x GB/s inside/between nodes: rings {}, trees {}, nvls {}", graph_text(graphs.ring),
           graph_text(graphs.tree), graphs.nvls.channels > 0 ? graph_text(graphs.nvls) : "none");
}

void print_range(const SizeRange& range) {
  if (range.to == 0) {
    log::out("  chosen from {} on", size_text(range.from));
  } else {
    log::out("  chosen from {} to {}", size_text(range.from), size_text(range.to));
  }
}

bool is(const Alternative& x, const Choice& choice) {
  return x.algorithm == choice.algorithm && x.protocol == choice.protocol;
}

// The model's reason, or the tuning file's.
void print_reason(const Explanation& told) {
  const auto& all = told.alternatives;
  const Alternative& best = *std::ranges::find_if(all, [&](const auto& x) { return is(x, told.choice); });
  if (!told.pinned.empty()) log::out("  why: pinned by the tuning file: {}", told.pinned);
  if (told.fit) {
    log::out("  this time is {}{}: 95 of 100 measurements from {:.4g} to {:.4g} us", told.fit->basis,
             told.fit->extrapolated ? ", extrapolated" : "", told.fit->low_us, told.fit->high_us);
  }
  if (!told.pinned.empty()) return;
  log::out("  why: {}{:.4g} us latency and {:.4g} us for the bytes", told.fit ? "by the model " : "", best.latency_us,
           best.us - best.latency_us);
  const Alternative& next = *std::ranges::find_if(all, [&](const auto& x) { return !is(x, told.choice); });
  if (next.us < 0) return;
  log::out("  the next, {}, has {:.4g} and {:.4g}: {:.3g} % longer", name_of_choice(next.algorithm, next.protocol),
           next.latency_us, next.us - next.latency_us, 100 * (next.us / best.us - 1));
}

void print_wire(const Explanation& told, double nic_gbs) {
  const auto& [sent, received] = told.wire;
  if (told.wire.gbs() <= 0) return;
  const bool receives_more = received > sent;
  log::out("  wire: each of {} NICs of a node {} {:.3g} GB/s ({:.3g} Gb/s), {:.0f} % of what it can", told.nics,
           receives_more ? "receives" : "sends", told.wire.gbs(), 8 * told.wire.gbs(), 100 * told.wire.gbs() / nic_gbs);
  if (sent == received) return;
  log::out("        and {} {:.3g} GB/s: switches {}", receives_more ? "sends" : "receives", std::min(sent, received),
           receives_more ? "copy" : "add");
}

void print_choice(const Answer& answer) {
  const Explanation& told = answer.explanation;
  log::out("\nNCCL chooses {}: {:.4g} us, bus bandwidth {:.4g} GB/s",
           name_of_choice(told.choice.algorithm, told.choice.protocol), told.choice.us, told.bus_gbs);
  print_reason(told);
  print_range(told.range);
  print_wire(told, answer.question.machine.nic_gbs);
  for (const std::string& what : answer.assumptions) log::out("  assumes: {}", what);
}

// Protocols that an algorithm does not have are left out.
void print_alternatives(const std::vector<Alternative>& alternatives) {
  log::out("\n{:<15} {:<8} {:>10} {:>10} {:>11}", "algorithm", "protocol", "us", "bus GB/s", "latency us");
  for (const Alternative& x : alternatives) {
    if (x.us >= 0) {
      log::out("{:<15} {:<8} {:>10.4g} {:>10.4g} {:>11.4g}", name_of(x.algorithm), name_of(x.protocol), x.us, x.bus_gbs,
               x.latency_us);
    } else if (x.protocol == Protocol::simple || x.algorithm == Algorithm::ring) {
      log::out("{:<15} {:<8} {:>10} {:>10} {:>11}  {}", name_of(x.algorithm), name_of(x.protocol), "-", "-", "-",
               x.excluded);
    }
  }
}

void print_health(const Answer& answer) {
  const Health& health = *answer.health;
  const Explanation& told = answer.explanation;
  const bool fitted = told.fit.has_value();
  log::out("\nmeasured: {:.4g} GB/s of the bus, {:.0f} % of the {} {:.4g} GB/s: {}", health.bus_gbs, 100 * health.share,
           fitted ? "fit's" : "model's", told.bus_gbs,
           health.impossible_nic_gbs > 0 ? "NOT possible"
           : health.healthy              ? "healthy"
                                         : "NOT healthy");
  if (health.impossible_nic_gbs > 0) {
    log::out(
        "  each NIC would carry {:.3g} GB/s and can do {:.3g}: look whether size, nodes and cluster are those that\n"
        "  were measured, and whether the value is the bus bandwidth and not another",
        health.impossible_nic_gbs, answer.question.machine.nic_gbs);
    return;
  }
  log::out("  healthy from {:.4g} GB/s on: {:g} x that{}", health.threshold_gbs, healthy_share,
           fitted ? ", or within the fits' interval"
                  : fmt::format(", and {:g} us for the launch, which the model leaves out", launch_us));
  if (health.healthy) return;
  if (!health.nearest || is(*health.nearest, told.choice)) {
    log::out("  no other algorithm explains it: look at the links, the network and what else uses them");
  } else {
    log::out("  nearest to it is what {} would take, {:.4g} us: look whether NCCL_ALGO or NCCL_PROTO is set",
             name_of_choice(health.nearest->algorithm, health.nearest->protocol), health.nearest->us);
  }
}

}  // namespace

void print_text(const Answer& answer) {
  print_question(answer);
  print_choice(answer);
  print_alternatives(answer.explanation.alternatives);
  if (answer.health) print_health(answer);
}

}  // namespace octet::tune
