#include "src/cluster/doctor/hca_links.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/options/text.h"
#include "src/cluster/doctor/doctor_checks.h"
#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

/// What is wrong with a port; empty if nothing is.
std::string fault_of(const IbstatPort& port) {
  if (port.physical_state != "LinkUp") return fmt::format("{} is {}", port.card, port.physical_state);
  if (port.link_layer == "InfiniBand" && port.subnet_manager == "0") {
    return fmt::format("{} has found no subnet manager", port.card);
  }
  return "";
}

/// The ports that training uses, as far as the profile names them.
std::vector<IbstatPort> used(const Examination& e, std::vector<IbstatPort> all) {
  if (!e.expects_verbs() || e.profile->nics.hca.empty()) return all;
  std::erase_if(all, [&](const IbstatPort& p) { return std::ranges::count(e.profile->nics.hca, p.card) == 0; });
  return all;
}

}  // namespace

std::vector<IbstatPort> parse_ibstat(std::string_view text) {
  std::vector<IbstatPort> out;
  int port = 0;
  for (const std::string& line : lines_of(text)) {
    const std::string t = trimmed(line);
    const std::string value = trimmed(std::string_view(t).substr(std::min(t.find(':'), t.size() - 1) + 1));
    if (t.starts_with("CA '")) {
      out.push_back(
          {.card = t.substr(4, t.rfind('\'') - 4), .physical_state = {}, .subnet_manager = {}, .link_layer = {}});
      port = 0;
    } else if (t.starts_with("Port ") && t.ends_with(':')) {
      ++port;
    }
    if (out.empty() || port != 1) continue;
    if (t.starts_with("Physical state:")) out.back().physical_state = value;
    if (t.starts_with("SM lid:")) out.back().subnet_manager = value;
    if (t.starts_with("Link layer:")) out.back().link_layer = value;
  }
  std::erase_if(out, [](const IbstatPort& p) { return p.physical_state.empty(); });
  return out;
}

Findings node_checks::check_hca_links(const Examination& e) {
  const ProgramResult result = e.machine.run("ibstat", {"ibstat"});
  if (!result.succeeded()) return {missing("hca.link", false, result.failure("ibstat"), "", "")};
  const std::vector<IbstatPort> ports = used(e, parse_ibstat(result.out));
  if (ports.empty()) return {missing("hca.link", false, "ibstat lists no port", "", "")};
  std::vector<std::string> faults;
  for (const IbstatPort& port : ports) {
    if (const std::string fault = fault_of(port); !fault.empty()) faults.push_back(fault);
  }
  if (faults.empty()) return {good("hca.link", fmt::format("all {} LinkUp", ports.size()))};
  // Some cards have ports that nobody uses.
  const bool named = e.expects_verbs() && !e.profile->nics.hca.empty();
  const auto up = static_cast<std::int64_t>(ports.size() - faults.size());
  const bool needed = named || (e.expects_verbs() && up < e.profile->nics.per_node);
  return {
      {"hca.link", needed ? FindingState::bad : FindingState::warning, joined(faults),
       "LinkUp, and on InfiniBand a subnet manager",
       "Polling: no signal, check cable, transceiver and the switch's port; Disabled: ibportstate LID PORT enable; no "
       "subnet manager: start opensm, or look at the one of the fabric (sminfo)"}};
}

}  // namespace octet
