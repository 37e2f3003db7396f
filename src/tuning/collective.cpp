#include "src/tuning/collective.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <span>
#include <string>

#include "src/base/error.h"

namespace octet {
namespace {

constexpr std::array<std::string_view, 5> collectives{"broadcast", "reduce", "all_gather", "reduce_scatter",
                                                      "all_reduce"};
constexpr std::array<std::string_view, algorithm_count> algorithms{
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
constexpr std::array<std::string_view, protocol_count> protocols{"ll", "ll128", "simple"};

std::string plain(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if (c != '_' && c != '-') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

template <class Enum>
Enum parse(std::string_view what, std::string_view text, std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (same_name(names[i], text)) return static_cast<Enum>(i);
  }
  throw usage_error("tuning", "unknown {} \"{}\"; expected {}", what, text, fmt::join(names, ", "));
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  return plain(a) == plain(b);
}

std::string_view name_of(Collective collective) {
  return collectives.at(static_cast<std::size_t>(collective));
}

std::string_view name_of(Algorithm algorithm) {
  return algorithms.at(static_cast<std::size_t>(algorithm));
}

std::string_view name_of(Protocol protocol) {
  return protocols.at(static_cast<std::size_t>(protocol));
}

Collective parse_collective(std::string_view text) {
  return parse<Collective>("collective", text, collectives);
}

Algorithm parse_algorithm(std::string_view text) {
  return parse<Algorithm>("algorithm", text, algorithms);
}

Protocol parse_protocol(std::string_view text) {
  return parse<Protocol>("protocol", text, protocols);
}

bool nccl_has(Collective collective, Algorithm algorithm, Protocol protocol) {
  const bool any_protocol = algorithm == Algorithm::ring || algorithm == Algorithm::tree;
  if (!any_protocol && protocol != Protocol::simple) return false;
  switch (collective) {
    case Collective::broadcast:
    case Collective::reduce:
      return algorithm == Algorithm::ring;
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return algorithm == Algorithm::ring || algorithm == Algorithm::pat || algorithm == Algorithm::nvls ||
             algorithm == Algorithm::collnet_direct;
    case Collective::all_reduce:
      return algorithm != Algorithm::pat;
  }
  return false;
}

double bus_factor(Collective collective, int ranks) {
  const double n = ranks;
  switch (collective) {
    case Collective::all_reduce:
      return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return (n - 1) / n;
    case Collective::broadcast:
    case Collective::reduce:
      return 1;
  }
  return 1;
}

}  // namespace octet
