#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace octet {

/// A version of NCCL whose cost model is known here.
struct NcclVersion {
  int major = 2;
  int minor = 28;
  int patch = 9;

  auto operator<=>(const NcclVersion&) const = default;  // NOLINT(modernize-use-nullptr): of clang-tidy's own making
};

/// Reads "2.28.9", also inside a longer text ("2.28.9+cuda13.0"); "2.27" is its last release. Usage error for versions
/// other than 2.27 to 2.30, which are those that were read and compared.
NcclVersion parse_nccl_version(std::string_view text);
/// Whether parse_nccl_version() knows that version.
bool has_cost_model(std::string_view text);
/// Whether search_graphs() was compared with that release's search of channels. That of 2.30 was rewritten
/// (src/graph/search.cc, topo.cc); its costs, given the channels, were compared.
bool search_is_known(const NcclVersion& version);
std::string to_text(const NcclVersion& version);

}  // namespace octet
