#include "src/cluster/doctor/kernel_log.h"

#include <algorithm>
#include <charconv>

#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

constexpr std::string_view fatal_of_switch =
    "it ends all that uses NVLink: leave the node out and reset all its GPUs together, which resets the switches "
    "(nvidia-smi -r), or reboot";

constexpr std::string_view fatal_of_link =
    "GPUs can no longer exchange anything over NVLink: leave the node out and reset all its GPUs (nvidia-smi -r), or "
    "reboot it";

/// What "KIND (PCI:DEVICE): NUMBER, REST" is made of.
struct Parts {
  std::string device;
  std::uint64_t number = 0;
  std::string_view rest;
};

std::optional<Parts> parts_of(std::string_view line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  const std::size_t close = line.find("): ", at);
  if (at == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
  std::string_view device = line.substr(at + mark.size(), close - at - mark.size());
  if (device.starts_with("PCI:")) device.remove_prefix(4);
  Parts parts{.device = std::string(device), .rest = line.substr(close + 3)};
  const char* const end = parts.rest.data() + parts.rest.size();
  const char* const behind = std::from_chars(parts.rest.data(), end, parts.number).ptr;
  parts.rest.remove_prefix(static_cast<std::size_t>(behind - parts.rest.data()));
  if (parts.number == 0) return std::nullopt;
  return parts;
}

/// An NVSwitch's error says itself whether it is fatal: "20034, Fatal, Link 48 LTSSM Fault Up".
std::optional<DriverError> error_of_switch(const Parts& parts) {
  const bool fatal = parts.rest.starts_with(", Fatal,");
  if (!fatal && !parts.rest.starts_with(", Non-fatal,")) return std::nullopt;
  const Xid xid{parts.number, fatal ? XidVerdict::broken : XidVerdict::watch, "error of an NVSwitch", "",
                fatal ? fatal_of_switch : "nothing now; where it comes back, have the switch and its links looked at"};
  return DriverError{"SXid", parts.device, xid, fatal ? "Fatal" : "Non-fatal"};
}

bool has_word(std::string_view text, std::string_view word) {
  const auto words = split(text, ' ');
  return std::ranges::find(words, word) != words.end();
}

/// Xids 144 to 150 of Blackwell and newer: "149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (0x025525c6 ...)".
void judge_link(DriverError& error, std::string_view rest) {
  if (has_word(rest, "Fatal")) {
    error.said = "Fatal";
    error.xid.verdict = XidVerdict::broken;
    error.xid.for_node = fatal_of_link;
  } else if (has_word(rest, "Nonfatal")) {
    error.said = "Nonfatal";
  }
}

/// Xid 154: "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)".
void judge_recovery(DriverError& error, std::string_view rest) {
  const std::size_t to = rest.find(") to ");
  const std::size_t open = rest.find('(', to == std::string_view::npos ? to : to + 1);
  const std::size_t close = rest.find(')', open);
  if (close == std::string_view::npos) return;
  error.said = std::string(rest.substr(open + 1, close - open - 1));
  error.xid.verdict = error.said == "None" ? XidVerdict::well : XidVerdict::broken;
  error.xid.for_node = "leave the node out until that is done (GPU Reset: nvidia-smi -r)";
}

}  // namespace

std::optional<DriverError> parse_driver_error(const std::string& line) {
  if (const auto parts = parts_of(line, "SXid (")) return error_of_switch(*parts);
  const auto parts = parts_of(line, "NVRM: Xid (");
  if (!parts) return std::nullopt;
  DriverError error{"Xid", parts->device, find_xid(parts->number), ""};
  if (error.xid.number >= 144 && error.xid.number <= 150) judge_link(error, parts->rest);
  if (error.xid.number == xid_of_recovery) judge_recovery(error, parts->rest);
  return error;
}

}  // namespace octet
