#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/xid.h"

namespace octet {

/// An error of a GPU (Xid) or of an NVSwitch (SXid), as NVIDIA's driver writes it to the kernel's log.
struct DriverError {
  std::string kind, device;  ///< "Xid" or "SXid"; "0000:3b:00"
  Xid xid;                   ///< its verdict goes by the line's own words where they say how bad it is
  std::string said;          ///< those words
};

/// Tells which recovery a GPU now needs: what an earlier one of the same GPU said holds no longer.
inline constexpr std::uint64_t xid_of_recovery = 154;

/// Nothing for any other line, and for those that follow an SXid with its details.
std::optional<DriverError> parse_driver_error(const std::string& line);

}  // namespace octet
