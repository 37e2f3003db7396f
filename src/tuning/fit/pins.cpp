#include "src/tuning/fit/pins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "src/tuning/cost_model/size_text.h"

namespace octet {
namespace {

/// What was found at one size.
struct Contradiction {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  double us = 0;        ///< of the fastest
  double model_us = 0;  ///< of what the model chooses, measured
  std::string model;
  double gain() const { return model_us / us; }
};

class PinFinder {
 public:
  PinFinder(const NcclVersion& version, const NcclMachine& machine, const ModelConstants& constants,
            bool constants_changed, std::vector<const FittedGroup*> groups)
      : version_(version),
        machine_(machine),
        constants_(constants),
        library_counts_(!constants_changed),
        groups_(std::move(groups)) {}

  void find(Pins& pins) {
    std::set<std::int64_t> sizes;
    for (const FittedGroup* group : groups_) {
      for (const FitPoint& point : group->points) sizes.insert(point.bytes);
    }
    std::map<std::int64_t, Contradiction> found;
    for (const std::int64_t bytes : sizes) {
      if (const auto one = at(bytes)) found.emplace(bytes, *one);
    }
    merge(sizes, found, pins);
    const FittedGroup& any = *groups_.front();
    if (unmeasured_ > 0) {
      pins.notes.push_back(
          fmt::format("{}, {} x {}: at {} of {} sizes what NCCL's model chooses was not measured; "
                      "nothing is pinned there",
                      name_of(any.collective), any.shape.nodes, any.shape.ranks_per_node, unmeasured_, sizes.size()));
    }
  }

 private:
  std::optional<Contradiction> at(std::int64_t bytes) {
    const FittedGroup& any = *groups_.front();
    const AlgorithmTable table = predicted_us(version_, machine_, constants_, any.collective, any.shape, bytes);
    const Choice model = choose(table);
    const FittedGroup* best = nullptr;
    std::optional<GroupTime> best_time, model_time, library_time;
    for (const FittedGroup* group : groups_) {
      const auto time = time_of(*group, bytes);
      if (!time) continue;
      if (!group->algorithm && !group->protocol) library_time = time;
      if (!group->forced() || !can_run(table, *group)) continue;
      if (*group->algorithm == model.algorithm && *group->protocol == model.protocol) model_time = time;
      if (!best || time->us < best_time->us) best = group, best_time = time;
    }
    if (!best) return std::nullopt;
    std::string how = "the model's choice";
    if (!model_time && library_counts_) model_time = library_time, how = "what the library chose";
    if (!model_time) {
      ++unmeasured_;
      return std::nullopt;
    }
    if (best_time->high_us >= model_time->low_us) return std::nullopt;
    return Contradiction{*best->algorithm, *best->protocol, best_time->us, model_time->us,
                         fmt::format("{}/{}, {}", name_of(model.algorithm), name_of(model.protocol), how)};
  }

  static bool can_run(const AlgorithmTable& table, const FittedGroup& group) {
    return nccl_has(group.collective, *group.algorithm, *group.protocol) &&
           table.at(static_cast<std::size_t>(*group.algorithm)).at(static_cast<std::size_t>(*group.protocol)) >= 0;
  }

  /// Neighbouring sizes with the same answer become one choice.
  void merge(const std::set<std::int64_t>& sizes, const std::map<std::int64_t, Contradiction>& found,
             Pins& pins) const {
    const auto same = [](const Contradiction& a, const Contradiction& b) {
      return a.algorithm == b.algorithm && a.protocol == b.protocol;
    };
    for (auto size = sizes.begin(); size != sizes.end();) {
      const auto first = found.find(*size);
      if (first == found.end()) {
        ++size;
        continue;
      }
      auto worst = first, next_found = first;
      auto last = size;
      for (++size; size != sizes.end(); ++size, ++last) {
        next_found = found.find(*size);
        if (next_found == found.end() || !same(first->second, next_found->second)) break;
        if (next_found->second.gain() > worst->second.gain()) worst = next_found;
      }
      const std::int64_t from =
          first->first == *sizes.begin() ? first->first : halfway(*std::prev(sizes.find(first->first)), first->first);
      const std::int64_t to = size == sizes.end() ? *last + 1 : halfway(*last, *size);
      pins.choices.push_back(choice(*worst, from, to));
    }
  }

  /// The geometric mean, rounded up: the smaller of two measured sizes keeps its own answer even where they are
  /// neighbours, and two pins that meet share this number, where one ends and the other begins.
  static std::int64_t halfway(std::int64_t from, std::int64_t to) {
    const double mean = std::sqrt(static_cast<double>(from) * static_cast<double>(to));
    return std::clamp(static_cast<std::int64_t>(std::ceil(mean)), from + 1, to);
  }

  TunedChoice choice(const std::pair<const std::int64_t, Contradiction>& worst, std::int64_t from,
                     std::int64_t to) const {
    const FittedGroup& any = *groups_.front();
    TunedChoice pin;
    pin.collective = any.collective;
    pin.nodes_from = any.shape.nodes, pin.nodes_to = any.shape.nodes + 1;
    pin.ranks_per_node = any.shape.ranks_per_node;
    pin.bytes_from = from, pin.bytes_to = to;
    pin.algorithm = worst.second.algorithm, pin.protocol = worst.second.protocol;
    pin.reason = fmt::format("measured {:.4g} us against {:.4g} us ({}) at {}", worst.second.us, worst.second.model_us,
                             worst.second.model, size_text(worst.first));
    return pin;
  }

  const NcclVersion& version_;
  const NcclMachine& machine_;
  const ModelConstants& constants_;
  bool library_counts_;
  std::vector<const FittedGroup*> groups_;  ///< of one collective and shape
  std::size_t unmeasured_ = 0;
};

}  // namespace

Pins find_pins(const NcclVersion& version, const NcclMachine& machine, const ModelConstants& constants,
               bool constants_changed, const std::vector<FittedGroup>& groups) {
  std::map<std::tuple<Collective, int, int>, std::vector<const FittedGroup*>> places;
  for (const FittedGroup& group : groups) {
    if (group.fit) places[{group.collective, group.shape.nodes, group.shape.ranks_per_node}].push_back(&group);
  }
  Pins pins;
  for (auto& [place, members] : places) {
    PinFinder(version, machine, constants, constants_changed, std::move(members)).find(pins);
  }
  return pins;
}

}  // namespace octet
