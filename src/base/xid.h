#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace octet {

/// What an Xid, an error number of NVIDIA's driver, says of its GPU.
enum class XidVerdict { well, watch, broken };

/// Meanings and what to do are those of NVIDIA's catalog for A100 and newer, in short:
/// https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html.
struct Xid {
  std::uint64_t number;
  XidVerdict verdict;
  std::string_view meaning;
  std::string_view for_run;   ///< what to do in a run that sees it
  std::string_view for_node;  ///< what to do on a node whose log has it; empty where the GPU is well
};

/// The catalog's entry for that Xid; for a number that is not in our table, an entry that refers to the catalog.
Xid find_xid(std::uint64_t number);

/// "Xid 79 (GPU has fallen off the bus): reboot the node; if it comes back, have GPU and PCIe link looked at".
std::string describe_xid(std::uint64_t number);

}  // namespace octet
