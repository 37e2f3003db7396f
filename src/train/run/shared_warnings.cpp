#include "src/train/run/shared_warnings.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/base/log.h"
#include "src/comm/control_exchange.h"

namespace octet {
namespace {

struct Warning {
  std::string text;
  std::vector<int> ranks;
};

/// In the order of the lowest rank that has them.
std::vector<Warning> merged(const std::vector<std::string>& by_rank) {
  std::vector<Warning> warnings;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    for (const std::string text : nlohmann::json::from_cbor(by_rank[rank])) {
      auto known = std::ranges::find(warnings, text, &Warning::text);
      if (known == warnings.end()) known = warnings.insert(known, {text, {}});
      known->ranks.push_back(static_cast<int>(rank));
    }
  }
  return warnings;
}

/// "on 4 of 4 ranks", "on 2 of 4 ranks (1, 3)"
std::string whose(const std::vector<int>& ranks, int all) {
  constexpr std::size_t named = 8;
  std::string text = fmt::format("on {} of {} ranks", ranks.size(), all);
  if (std::ssize(ranks) == all) return text;
  const std::vector<int> first(ranks.begin(),
                               ranks.begin() + static_cast<std::ptrdiff_t>(std::min(named, ranks.size())));
  return text + fmt::format(" ({}{})", fmt::join(first, ", "), ranks.size() > named ? ", ..." : "");
}

}  // namespace

void tell_shared_warnings(Communicator& control) {
  if (largest(log::SharedWarnings::any() ? 1 : 0, control) == 0) return;
  const auto mine = nlohmann::json::to_cbor(log::SharedWarnings::take());
  const std::vector<std::string> all = gather_bytes({mine.begin(), mine.end()}, control);
  if (control.rank() != 0) return;
  for (const Warning& w : merged(all)) {
    control.size() == 1 ? log::warning("{}", w.text) : log::warning("{}: {}", whose(w.ranks, control.size()), w.text);
  }
}

}  // namespace octet
