#include "src/tuning/fit/fit_constants.h"
#include "src/tuning/cost_model/tuned_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "src/tuning/fit/size_scaling.h"

namespace octet {
namespace {

constexpr double agrees = 0.1;  // relative: NCCL's constants are rounder than that
constexpr double interval = 1.96;

std::size_t index(auto value) {
  return static_cast<std::size_t>(value);
}

/// The model's latency of one line at NCCL's constants, and what a microsecond more of each constant adds.
struct LatencyLine {
  double alpha = 0, error = 0;  ///< fitted
  double usual = 0;             ///< by the model
  double of_net = 0, of_base = 0;
};

class Latencies {
 public:
  Latencies(const NcclVersion& version, const NcclMachine& machine, const TunedFit& fit)
      : version_(version), machine_(machine), fit_(fit) {}

  /// None where NCCL does not run it.
  std::optional<LatencyLine> line() const {
    const ModelConstants usual = default_constants(version_);
    ModelConstants net = usual, base = usual;
    net.hw_latency.at(index(LinkKind::net)).at(index(fit_.algorithm)).at(index(fit_.protocol)) += 1;
    base.base_latency.at(index(fit_.algorithm)).at(index(fit_.protocol)) += 1;
    const auto [latency, time] = at(usual);
    if (time < 0) return std::nullopt;
    const double of_net = at(net).second - time, of_base = at(base).second - time;
    // A factor that depends on the size: the model's time is made with it, its latency is not.
    const double by_size = of_base / (at(base).first - latency);
    return LatencyLine{fit_.alpha_us, alpha_error(fit_), by_size * latency, of_net, of_base};
  }

 private:
  std::pair<double, double> at(const ModelConstants& constants) const {
    const auto costs = algorithm_costs(version_, machine_, constants, fit_.collective, fit_.shape);
    const auto times = predicted_us(version_, machine_, constants, fit_.collective, fit_.shape, latency_bytes());
    return {costs.at(index(fit_.algorithm)).at(index(fit_.protocol)).latency_us,
            times.at(index(fit_.algorithm)).at(index(fit_.protocol))};
  }

  /// The middle of the sizes measured for which latency is more than half of the time.
  std::int64_t latency_bytes() const {
    const double from = std::max<double>(static_cast<double>(fit_.bytes_from), 1);
    const double knee = 1e3 * fit_.alpha_us * fit_.beta_gbs;
    return std::max<std::int64_t>(1, std::llround(std::sqrt(from * std::max(from, knee))));
  }

  const NcclVersion& version_;
  const NcclMachine& machine_;
  const TunedFit& fit_;
};

/// What to add to both constants; base only where the lines tell them apart.
struct Change {
  double net = 0;
  std::optional<double> base;
};

std::optional<Change> solve(const std::vector<LatencyLine>& lines, bool with_base) {
  double nn = 0, nb = 0, bb = 0, nr = 0, br = 0;
  for (const LatencyLine& line : lines) {
    const double weight = 1 / std::pow(line.error, 2), rest = line.alpha - line.usual;
    nn += weight * line.of_net * line.of_net, nb += weight * line.of_net * line.of_base;
    bb += weight * line.of_base * line.of_base;
    nr += weight * line.of_net * rest, br += weight * line.of_base * rest;
  }
  if (nn <= 0) return std::nullopt;
  if (!with_base) return Change{nr / nn, std::nullopt};
  const double determinant = nn * bb - nb * nb;
  if (determinant <= 1e-9 * nn * bb) return std::nullopt;
  return Change{(bb * nr - nb * br) / determinant, (nn * br - nb * nr) / determinant};
}

struct Wanted {
  Algorithm algorithm;
  Protocol protocol;
};

class ConstantsOf {
 public:
  ConstantsOf(const NcclVersion& version, const NcclMachine& machine, const std::vector<TunedFit>& fits, Wanted wanted)
      : wanted_(wanted), usual_(default_constants(version)) {
    std::set<int> nodes;
    for (const TunedFit& fit : fits) {
      if (fit.algorithm != wanted.algorithm || fit.protocol != wanted.protocol || fit.shape.nodes < 2) continue;
      if (const auto line = Latencies(version, machine, fit).line()) {
        lines_.push_back(*line);
        nodes.insert(fit.shape.nodes);
      }
    }
    several_ = nodes.size() > 1;
  }

  void fit(FittedConstants& out) const {
    if (std::all_of(lines_.begin(), lines_.end(), as_usual)) return;
    std::optional<Change> change = several_ ? solve(lines_, true) : std::nullopt;
    if (!change || base() + *change->base < TunedConstants::least_us) change = solve(lines_, false);
    if (!change || net() + change->net < TunedConstants::least_us) {
      out.notes.push_back(
          fmt::format("{}: no latency of the network above 0 us gives the fitted alpha; "
                      "NCCL's constants stay",
                      name()));
      return;
    }
    std::string note = fmt::format("{}: network {:.2f} us for {:.2f}", name(), net() + change->net, net());
    out.constants.hw_latency.push_back(
        {TunedLink::net, wanted_.algorithm, wanted_.protocol, rounded(net() + change->net)});
    if (change->base) {
      out.constants.base_latency.push_back({wanted_.algorithm, wanted_.protocol, rounded(base() + *change->base)});
      note += fmt::format(", base {:.2f} us for {:.2f}", base() + *change->base, base());
    }
    out.notes.push_back(note + fmt::format(", from {} fits", lines_.size()));
  }

 private:
  static bool as_usual(const LatencyLine& line) {
    return std::abs(line.alpha - line.usual) <= std::max(interval * line.error, agrees * line.usual);
  }
  double net() const {
    return usual_.hw_latency.at(index(LinkKind::net)).at(index(wanted_.algorithm)).at(index(wanted_.protocol));
  }
  double base() const { return usual_.base_latency.at(index(wanted_.algorithm)).at(index(wanted_.protocol)); }
  std::string name() const { return fmt::format("{}/{}", name_of(wanted_.algorithm), name_of(wanted_.protocol)); }

  Wanted wanted_;
  ModelConstants usual_;
  std::vector<LatencyLine> lines_;
  bool several_ = false;  ///< numbers of nodes
};

}  // namespace

FittedConstants fit_constants(const NcclVersion& version, const NcclMachine& machine,
                              const std::vector<TunedFit>& fits) {
  FittedConstants out;
  for (int a = 0; a < algorithm_count; ++a) {
    for (int p = 0; p < protocol_count; ++p) {
      ConstantsOf(version, machine, fits, {static_cast<Algorithm>(a), static_cast<Protocol>(p)}).fit(out);
    }
  }
  if (version < first_with_constants && !out.constants.hw_latency.empty()) {
    return {{}, {"latencies differ from NCCL's constants, but tuners of NCCL before 2.28 cannot change them"}};
  }
  return out;
}

}  // namespace octet
