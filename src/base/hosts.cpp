#include "src/base/hosts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>

namespace octet {

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

namespace {

constexpr std::string_view words = "leave out hosts ";

}  // namespace

std::string leave_out(const std::vector<std::string>& hosts) {
  return fmt::format("{}{}: ", words, fmt::join(hosts, ","));
}

std::vector<std::string> left_out_hosts(std::string_view text) {
  std::vector<std::string> hosts;
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return hosts;
  std::string_view list = text.substr(at + words.size());
  const std::size_t last = list.find(": ");
  if (last == std::string_view::npos) return hosts;  // a message that was cut off
  list = list.substr(0, last);
  while (!list.empty()) {
    const std::size_t end = list.find(',');
    hosts.emplace_back(list.substr(0, end));
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
  }
  return hosts;
}

}  // namespace octet
