#include "src/cluster/doctor/finding.h"

#include <algorithm>
#include <utility>

#include "src/base/error.h"
#include "src/base/options/text.h"

namespace octet {
namespace {

constexpr std::pair<State, std::string_view> names[] = {
    {State::ok, "ok"}, {State::warning, "warning"}, {State::bad, "bad"}, {State::absent, "not present"}};

}  // namespace

std::string_view name_of(State state) {
  const auto* found = std::ranges::find(names, state, &std::pair<State, std::string_view>::first);
  if (found == std::end(names)) throw internal_error("cluster", "state {} has no name", static_cast<int>(state));
  return found->second;
}

State state_of(std::string_view name) {
  const auto* found = std::ranges::find(names, name, &std::pair<State, std::string_view>::second);
  if (found == std::end(names)) {
    throw usage_error("cluster", "state {}: expected ok, warning, bad or not present", in_quotes(name));
  }
  return found->first;
}

bool healthy(const Findings& findings) {
  return std::ranges::none_of(findings, [](const Finding& f) { return f.state == State::bad; });
}

Finding good(std::string check, std::string seen) {
  return {std::move(check), State::ok, std::move(seen), "", ""};
}

Finding missing(std::string check, bool required, std::string seen, std::string expected, std::string advice) {
  if (!required) return {std::move(check), State::absent, std::move(seen), "", ""};
  return {std::move(check), State::bad, std::move(seen), std::move(expected), std::move(advice)};
}

}  // namespace octet
