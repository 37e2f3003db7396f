#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// CPUs, which are hardware threads, by the numbers that Linux gives them: ascending, each once.
using CpuList = std::vector<int>;

/// The CPUs of a list as Linux writes it: "0-13,112-125"; none of an empty text. Nothing for a text that is no such
/// list, or that has numbers above 65535.
std::optional<CpuList> parse_cpu_list(std::string_view text);

/// The shortest such text.
std::string cpu_list_text(const CpuList& cpus);

/// The CPUs that are in both.
CpuList common(const CpuList& a, const CpuList& b);

}  // namespace octet
