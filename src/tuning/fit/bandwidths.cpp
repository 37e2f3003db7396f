#include "src/tuning/fit/bandwidths.h"
#include "src/tuning/cost_model/tuned_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "src/tuning/fit/fit_constants.h"
#include "src/tuning/fit/large_size_rate.h"
#include "src/tuning/fit/size_scaling.h"
#include "src/tuning/robust.h"

namespace octet {
namespace {

constexpr double bound = 0.95;  // a rate below this part of what other bounds allow is the limit's own

/// The limit in NCCL's model that bounds a pair's rate; none where only the graph that its search finds does.
std::optional<TunedLimit> limit_of(Algorithm algorithm, Protocol protocol) {
  if (algorithm == Algorithm::nvls_tree) return TunedLimit::nvls_tree;
  const bool tree = algorithm == Algorithm::tree;
  if (!tree && algorithm != Algorithm::ring) return std::nullopt;
  if (protocol == Protocol::ll) return TunedLimit::ll;
  if (protocol == Protocol::ll128) return tree ? TunedLimit::tree_ll128 : TunedLimit::ring_ll128;
  return tree ? std::optional(TunedLimit::tree) : std::nullopt;
}

class BandwidthFit {
 public:
  BandwidthFit(const NcclVersion& version, const NcclMachine& machine, const ModelConstants& constants)
      : version_(version), machine_(machine), constants_(constants) {}

  void add(const FittedGroup& group) {
    if (const auto rate = large_size_rate(version_, machine_, constants_, group)) rates_.push_back(*rate);
  }

  FittedBandwidths fit() {
    // `tree` bounds the other protocols of trees, so that theirs are fitted under it.
    for (const TunedLimit limit :
         {TunedLimit::tree, TunedLimit::ring_ll128, TunedLimit::tree_ll128, TunedLimit::ll, TunedLimit::nvls_tree}) {
      for (int nodes = 1; nodes <= 3; ++nodes) fit_row(limit, nodes);
    }
    for (const LargeSizeRate& rate : rates_) {
      if (!limit_of(rate) && !rate.is(rate.model)) {
        note(rate, "NCCL's table has no limit for this algorithm and protocol");
      }
    }
    return std::move(out_);
  }

 private:
  static std::optional<TunedLimit> limit_of(const LargeSizeRate& rate) {
    return octet::limit_of(*rate.group->algorithm, *rate.group->protocol);
  }
  static int row_nodes(const LargeSizeRate& rate) { return std::min(rate.group->shape.nodes, 3); }

  AlgorithmCost cost(const FittedGroup& group, const ModelConstants& constants) const {
    return cost_of(group, algorithm_costs(version_, machine_, constants, group.collective, group.shape));
  }

  /// As NCCL looks it up: ll between nodes by the CPU's vendor, all else by the GPU's generation.
  TunedBandwidth entry(TunedLimit limit, int nodes, double gbs) const {
    const bool by_cpu = limit == TunedLimit::ll && nodes > 1;
    const auto row = by_cpu ? (machine_.cpu == CpuVendor::amd ? TunedGeneration::ampere : TunedGeneration::volta)
                            : static_cast<TunedGeneration>(machine_.generation);
    return {limit, row, nodes, gbs};
  }
  ModelConstants with(TunedLimit limit, int nodes, double gbs) const {
    return with_tuned(constants_, {{}, {}, {entry(limit, nodes, gbs)}});
  }

  /// The limit for which the model gives the group's rate: below the other bounds the rate is proportional to it.
  struct Need {
    double gbs;
    bool binds;
  };
  Need need(const LargeSizeRate& rate, TunedLimit limit, int nodes) const {
    const double least = TunedConstants::least_gbs;
    const double slope = cost(*rate.group, with(limit, nodes, least)).algorithm_gbs / least;
    const double most = cost(*rate.group, with(limit, nodes, TunedConstants::most_gbs)).algorithm_gbs;
    return {std::min(rate.gbs, most) / slope, rate.gbs < bound * most};
  }

  void fit_row(TunedLimit limit, int nodes) {
    std::vector<LargeSizeRate> row;
    for (const LargeSizeRate& rate : rates_) {
      if (limit_of(rate) == limit && row_nodes(rate) == nodes) row.push_back(rate);
    }
    const auto as_now = [&](const LargeSizeRate& r) { return r.is(cost(*r.group, constants_).algorithm_gbs); };
    if (std::all_of(row.begin(), row.end(), as_now)) return;
    const double gbs = rounded(wanted(row, limit, nodes));
    const ModelConstants changed = with(limit, nodes, gbs);
    for (const LargeSizeRate& rate : row) {
      if (!rate.is(cost(*rate.group, changed).algorithm_gbs)) {
        return note(rate,
                    fmt::format("no {} limit gives it together with the other groups and bounds", name_of(limit)));
      }
    }
    for (const LargeSizeRate& rate : rates_) {
      if (limit != TunedLimit::tree || rate.group->algorithm != Algorithm::tree || row_nodes(rate) != nodes) continue;
      if (!has_room(rate, changed, nodes)) {
        return note(rate, fmt::format("a tree limit of {:.4g} GB/s a channel would bound it too", gbs));
      }
    }
    accept(row, entry(limit, nodes, gbs));
    constants_ = changed;
  }

  static double worth(double gbs) { return std::clamp(gbs, TunedConstants::least_gbs, TunedConstants::most_gbs); }

  double wanted(const std::vector<LargeSizeRate>& row, TunedLimit limit, int nodes) const {
    std::vector<double> binding;
    double most = 0;
    for (const LargeSizeRate& rate : row) {
      const Need one = need(rate, limit, nodes);
      if (one.binds) binding.push_back(one.gbs);
      most = std::max(most, one.gbs);
    }
    return worth(binding.empty() ? most : median(std::move(binding)));
  }

  /// Whether the group's own limit could still give its rate.
  bool has_room(const LargeSizeRate& rate, ModelConstants changed, int nodes) const {
    const TunedBandwidth none = entry(*limit_of(rate), nodes, TunedConstants::most_gbs);
    if (none.limit != TunedLimit::tree) changed = with_tuned(changed, {{}, {}, {none}});
    return cost(*rate.group, changed).algorithm_gbs >= rate.gbs * std::exp(-rate.allowed);
  }

  void accept(const std::vector<LargeSizeRate>& row, const TunedBandwidth& set) {
    ModelConstants usual = constants_;
    const double before = limit_table(usual, set.limit)
                              .at(static_cast<std::size_t>(set.generation))
                              .at(static_cast<std::size_t>(set.nodes - 1));
    out_.limits.push_back(set);
    out_.notes.push_back(fmt::format("bandwidth of {}, {}, {} node(s){}: {:.4g} GB/s for {:.4g}, from {} group(s)",
                                     name_of(set.limit), name_of(set.generation), set.nodes,
                                     set.nodes == 3 ? " and more" : "", set.gbs, before, row.size()));
  }

  void note(const LargeSizeRate& rate, const std::string& why) {
    out_.notes.push_back(fmt::format("{}: {:.4g} GB/s measured where the model has {:.4g}; {}; its limits stay",
                                     name_of(*rate.group), rate.gbs, cost(*rate.group, constants_).algorithm_gbs, why));
  }

  const NcclVersion& version_;
  const NcclMachine& machine_;
  ModelConstants constants_;
  std::vector<LargeSizeRate> rates_;
  FittedBandwidths out_;
};

}  // namespace

FittedBandwidths fit_bandwidths(const NcclVersion& version, const NcclMachine& machine, const ModelConstants& constants,
                                const std::vector<FittedGroup>& groups) {
  BandwidthFit fit(version, machine, constants);
  for (const FittedGroup& group : groups) fit.add(group);
  FittedBandwidths out = fit.fit();
  if (version < first_with_constants && !out.limits.empty()) {
    return {{}, {"bandwidths differ from NCCL's constants, but tuners of NCCL before 2.28 cannot change them"}};
  }
  return out;
}

}  // namespace octet
