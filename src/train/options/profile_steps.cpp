#include "src/train/options/profile_steps.h"

#include <charconv>

namespace octet {
namespace {

std::optional<std::int64_t> parse_step(std::string_view text) {
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (error != std::errc() || end != text.data() + text.size() || step < 1) return std::nullopt;
  return step;
}

}  // namespace

std::optional<ProfileSteps> parse_profile_steps(std::string_view text) {
  if (text == "off") return ProfileSteps{};
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = parse_step(text.substr(0, dash)), last = parse_step(text.substr(dash + 1));
  if (!first || !last) return std::nullopt;
  return ProfileSteps{.first = *first, .last = *last};
}

}  // namespace octet
