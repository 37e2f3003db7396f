#include "src/cluster/machine/finding.h"

#include <algorithm>
#include <utility>

#include "src/base/error.h"
#include "src/base/options/text.h"

namespace octet {

bool healthy(const Findings& findings) {
  return std::ranges::none_of(findings, [](const Finding& f) { return f.state == FindingState::bad; });
}

Finding good(std::string check, std::string seen) {
  return {std::move(check), FindingState::ok, std::move(seen), "", ""};
}

Finding missing(std::string check, bool required, std::string seen, std::string expected, std::string advice) {
  if (!required) return {std::move(check), FindingState::absent, std::move(seen), "", ""};
  return {std::move(check), FindingState::bad, std::move(seen), std::move(expected), std::move(advice)};
}

}  // namespace octet
