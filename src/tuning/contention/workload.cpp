#include "src/tuning/contention/workload.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "src/base/error.h"

namespace octet {
namespace {

constexpr std::array collectives{Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce};
constexpr std::string_view send = "send";
constexpr std::array algorithms{Algorithm::ring, Algorithm::tree};

template <class Known>
auto find_name(std::string_view what, std::string_view text, const Known& known,
               const std::vector<std::string_view>& more = {}) {
  std::vector<std::string_view> names;
  for (const auto value : known) {
    names.push_back(name_of(value));
    if (same_name(names.back(), text)) return value;
  }
  names.insert(names.end(), more.begin(), more.end());
  throw usage_error("tuning", "{} \"{}\" is not simulated; expected {}", what, text, fmt::join(names, ", "));
}

}  // namespace

std::optional<Collective> parse_simulated_collective(std::string_view text) {
  if (same_name(text, send)) return std::nullopt;
  return find_name("collective", text, collectives, {send});
}

std::string_view name_of_traffic(const Workload& w) {
  return w.collective ? name_of(*w.collective) : send;
}

Algorithm parse_simulated_algorithm(std::string_view text) {
  return find_name("algorithm", text, algorithms);
}

void check(const Workload& w) {
  if (w.collective.has_value() == (w.dimension == Dimension::pp)) {
    throw usage_error("tuning", "{} in groups of {}; ranks of pp send messages (send), others have collectives",
                      name_of_traffic(w), name_of(w.dimension));
  }
  parse_simulated_collective(name_of_traffic(w));
  const bool tree = w.algorithm == Algorithm::tree && w.collective == Collective::all_reduce;
  if (w.algorithm != Algorithm::ring && !tree) {
    throw usage_error("tuning", "{} by {} is not simulated; expected ring, or tree for all_reduce", name_of_traffic(w),
                      name_of(w.algorithm));
  }
  if (w.bytes < 1) throw usage_error("tuning", "a collective of {} bytes; expected at least 1", w.bytes);
}

}  // namespace octet
