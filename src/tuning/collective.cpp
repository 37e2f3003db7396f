#include "src/tuning/collective.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <span>
#include <string>

#include "src/base/error.h"

namespace octet {
namespace {

std::string plain(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if (c != '_' && c != '-') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

template <NamedEnum E>
E parse(std::string_view what, std::string_view text) {
  const auto names = names_of(E{});
  for (const std::string_view name : names) {
    if (same_name(name, text)) return *value_named<E>(name);
  }
  throw usage_error("tuning", "unknown {} \"{}\"; expected {}", what, text, fmt::join(names, ", "));
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  return plain(a) == plain(b);
}

Collective parse_collective(std::string_view text) {
  return parse<Collective>("collective", text);
}

Algorithm parse_algorithm(std::string_view text) {
  return parse<Algorithm>("algorithm", text);
}

Protocol parse_protocol(std::string_view text) {
  return parse<Protocol>("protocol", text);
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
