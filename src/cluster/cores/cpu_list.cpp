#include "src/cluster/cores/cpu_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace octet {
namespace {

constexpr int most_cpus = 1 << 16;

/// The number at the beginning of the text, which is taken off it; -1 where there is none.
int take_number(std::string_view& text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0 || number >= most_cpus) return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<CpuList> parse_cpu_list(std::string_view text) {
  CpuList cpus;
  while (text.ends_with('\n') || text.ends_with(' ')) text.remove_suffix(1);
  while (text.starts_with('\t') || text.starts_with(' ')) text.remove_prefix(1);
  if (text.empty()) return cpus;
  do {
    const int first = take_number(text);
    const int last = take(text, '-') ? take_number(text) : first;
    if (first < 0 || last < first) return std::nullopt;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  } while (take(text, ','));
  if (!text.empty()) return std::nullopt;
  std::ranges::sort(cpus);
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string cpu_list_text(const CpuList& cpus) {
  std::string out;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i;
    while (end + 1 < cpus.size() && cpus[end + 1] == cpus[end] + 1) ++end;
    out += fmt::format("{}{}", out.empty() ? "" : ",", cpus[i]);
    if (end > i) out += fmt::format("-{}", cpus[end]);
    i = end + 1;
  }
  return out;
}

CpuList common(const CpuList& a, const CpuList& b) {
  CpuList out;
  std::ranges::set_intersection(a, b, std::back_inserter(out));
  return out;
}

}  // namespace octet
