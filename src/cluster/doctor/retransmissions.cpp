#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "src/base/options/text.h"
#include "src/cluster/doctor/doctor_checks.h"
#include "src/cluster/doctor/hca.h"
#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

// Of mlx5: docs.kernel.org, RDMA, and NVIDIA's "Understanding mlx5 Linux counters".
constexpr const char* losses[] = {"packet_seq_err", "local_ack_timeout_err"};
constexpr const char* reordered = "out_of_sequence";  // adaptive routing makes it rise without a loss

constexpr long long least = 100;               ///< fewer come from jobs that were killed
constexpr long long packets_a_loss = 1000000;  ///< a loss costs a round trip: one in a million costs nothing

struct Port {
  std::string card, folder;
};

/// The interface that belongs to a card of RoCE; empty: not known.
std::string interface_of(const Machine& machine, const Port& port) {
  return machine.read(port.folder + "gid_attrs/ndevs/0").value_or("");
}

/// Packets that the port dropped as its buffers were full, which only ethtool has, or a driver among its own counters.
std::optional<long long> discards(const Machine& machine, const Port& port) {
  if (const auto own = machine.read_number(port.folder + "hw_counters/rx_discards_phy")) return own;
  const std::string name = interface_of(machine, port);
  if (name.empty()) return std::nullopt;
  const ProgramResult result = machine.run("ethtool-" + name, {"ethtool", "-S", name});
  const std::string value = value_after(result.out, "rx_discards_phy", ':');
  if (value.empty()) return std::nullopt;
  return std::strtoll(value.c_str(), nullptr, 10);
}

/// How high a counter may be without being a sign of a network that drops packets.
long long bearable(const Machine& machine, const Port& port) {
  if (const auto packets = machine.read_number(port.folder + "counters/port_rcv_packets")) {
    return std::max(least, *packets / packets_a_loss);
  }
  // One a minute since the node was booted.
  return std::max(least, machine.read_number("/proc/uptime").value_or(0) / 60);
}

void examine_port(const Machine& machine, const Port& port, std::vector<std::string>& found) {
  const long long most = bearable(machine, port);
  const std::size_t before = found.size();
  const auto add = [&](const char* counter) {
    const auto value = machine.read_number(port.folder + "hw_counters/" + counter);
    if (value && *value > most) found.push_back(fmt::format("{} {} {}", port.card, counter, *value));
  };
  for (const char* counter : losses) add(counter);
  const auto dropped = discards(machine, port);
  if (dropped && *dropped > most) found.push_back(fmt::format("{} rx_discards_phy {}", port.card, *dropped));
  if (found.size() > before) add(reordered);
}

}  // namespace

/// What the cards of RoCE have sent again or dropped since they were reset, against the packets that they received, or
/// else the time since the node was booted.
Findings node_checks::check_retransmissions(const Examination& e) {
  std::vector<std::string> found;
  std::size_t cards = 0;
  for (const Hca& card : used_hcas(e, read_hcas(e.machine))) {
    if (card.link_layer != "Ethernet") continue;  // InfiniBand does not drop, and adaptive routing reorders there
    ++cards;
    examine_port(e.machine, {card.name, fmt::format("/sys/class/infiniband/{}/ports/1/", card.name)}, found);
  }
  const char* check = "hca.retransmissions";
  if (cards == 0) return {};
  if (found.empty()) return {good(check, fmt::format("few on {} cards of RoCE since they were reset", cards))};
  return {{check, FindingState::warning, joined(found), "at most one for a million packets received",
           "since the cards were reset the network has dropped packets, which were sent again: " +
               std::string(advice_for_losses)}};
}

}  // namespace octet
