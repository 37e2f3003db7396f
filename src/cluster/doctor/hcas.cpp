#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "src/base/options/text.h"
#include "src/cluster/doctor/doctor_checks.h"
#include "src/cluster/doctor/hca.h"

namespace octet {
namespace {

using Hcas = std::vector<Hca>;

std::string names_of(const Hcas& cards) {
  std::vector<std::string> names;
  for (const Hca& card : cards) names.push_back(card.name);
  return joined(names);
}

/// Whether the profile names the cards; else any of those that there are will do.
bool named(const Examination& e) {
  return e.expects_verbs() && !e.profile->nics.hca.empty();
}

Finding check_count(const Examination& e, const Hcas& all) {
  const std::string seen = fmt::format("{} ({})", all.size(), names_of(all));
  const std::string advice = "look for the card on the bus (lspci) and its driver (lsmod, dmesg); reboot the node";
  if (named(e)) {
    std::vector<std::string> lost;
    for (const std::string& name : e.profile->nics.hca) {
      if (std::ranges::find(all, name, &Hca::name) == all.end()) lost.push_back(name);
    }
    if (lost.empty()) return good("hca.count", seen);
    return {"hca.count", FindingState::bad, fmt::format("without {}: {}", joined(lost), seen),
            fmt::format("{}, as {} says", joined(e.profile->nics.hca), e.profile->name), advice};
  }
  const auto expected = e.expects_devices() ? static_cast<std::size_t>(e.profile->nics.per_node) : 0;
  if (all.size() >= expected) return good("hca.count", seen);
  return {"hca.count", FindingState::bad, seen, fmt::format("{}, as {} says", expected, e.profile->name), advice};
}

/// A port that is down is a fault where the profile needs it; some cards have ports that nobody uses.
Finding check_state(const Examination& e, const Hcas& cards) {
  std::vector<std::string> down;
  for (const Hca& card : cards) {
    if (!card.active()) down.push_back(fmt::format("{} is {}", card.name, card.state));
  }
  if (down.empty()) return good("hca.state", fmt::format("all {} ACTIVE", cards.size()));
  const auto up = static_cast<std::int64_t>(cards.size() - down.size());
  const bool needed = e.expects_devices() && (named(e) || up < e.profile->nics.per_node);
  return {"hca.state", needed ? FindingState::bad : FindingState::warning, joined(down), "ACTIVE",
          "check cable and switch port; INIT and ARMED wait for the subnet manager"};
}

/// Ports of InfiniBand where the profile says RoCE, or the other way round: the job's settings are those for the
/// profile's fabric. Ports that are down do not count, since NCCL leaves them out.
Finding check_link_layer(const Examination& e, const Hcas& cards) {
  const std::string expected = e.profile->fabric == Fabric::infiniband ? "InfiniBand" : "Ethernet";
  std::vector<std::string> others;
  std::int64_t right = 0;
  for (const Hca& card : cards) {
    if (!card.active()) continue;
    if (card.link_layer == expected) {
      ++right;
    } else {
      others.push_back(fmt::format("{} is {}", card.name, card.link_layer));
    }
  }
  if (others.empty()) return good("hca.link_layer", expected);
  const bool needed = named(e) || right < e.profile->nics.per_node;
  return {"hca.link_layer", needed ? FindingState::bad : FindingState::warning, joined(others),
          fmt::format("{}, as {} says (fabric = {})", expected, e.profile->name, name_of(e.profile->fabric)),
          needed ? "correct fabric in the profile, or the port's mode (mlxconfig -d DEVICE set LINK_TYPE_P1=1 is "
                   "InfiniBand, 2 Ethernet)"
                 : "NCCL uses these too: name the cards for training in nics.hca"};
}

/// What is wrong where all links are up to the profile's rate and enough of them are above it; nothing otherwise.
Findings check_profile_rate(const Examination& e, const Hcas& cards) {
  const auto said = e.profile->nics.gbps;
  std::set<std::string> faster;
  std::int64_t equal = 0;
  for (const Hca& card : cards) {
    if (card.active() && card.gbps() > said) faster.insert(card.rate);
    if (card.active() && card.gbps() == said) ++equal;
  }
  if (faster.empty() || (!named(e) && equal >= e.profile->nics.per_node)) return {};
  return {{"hca.rate", FindingState::warning, joined({faster.begin(), faster.end()}),
           fmt::format("{} Gb/s, as {} says", said, e.profile->name),
           "correct nics.gbps, the rate of one card in Gb/s (not GB/s), by which octet tune predicts and pins"}};
}

/// A link of InfiniBand that came up with fewer lanes, where another card of the same model has a faster one: many
/// ports have two lanes or one. Of Ethernet the kernel makes lanes up from the speed.
bool is_narrow(const Hca& card, const Hcas& cards) {
  const bool fewer = card.rate.find("(1X") != std::string::npos || card.rate.find("(2X") != std::string::npos;
  return fewer && card.link_layer != "Ethernet" && std::ranges::any_of(cards, [&](const Hca& other) {
           return other.active() && other.model == card.model && other.link_layer == card.link_layer &&
                  other.gbps() > card.gbps();
         });
}

/// A link that came up with fewer lanes or at a lower speed.
Finding check_rate(const Examination& e, const Hcas& cards) {
  const auto expected = e.expects_verbs() ? e.profile->nics.gbps : 0;
  std::vector<std::string> slow;
  std::set<std::string> rates;
  std::int64_t fast = 0;
  for (const Hca& card : cards) {
    if (!card.active()) continue;
    const bool is_slow = expected > 0 ? card.gbps() < expected : is_narrow(card, cards);
    if (is_slow) slow.push_back(fmt::format("{}: {}", card.name, card.rate));
    if (!is_slow) ++fast;
    rates.insert(card.rate);
  }
  if (rates.empty()) return missing("hca.rate", false, "no port is ACTIVE", "", "");
  if (slow.empty()) {
    const Findings faster = expected > 0 ? check_profile_rate(e, cards) : Findings();
    return faster.empty() ? good("hca.rate", joined({rates.begin(), rates.end()})) : faster[0];
  }
  const bool needed = expected > 0 && (named(e) || fast < e.profile->nics.per_node);
  return {"hca.rate", needed ? FindingState::bad : FindingState::warning, joined(slow),
          expected > 0 ? fmt::format("{} Gb/s, as {} says", expected, e.profile->name)
                       : "as fast as the other cards of its model",
          "check cable and transceiver (mlxlink -d DEVICE -m), then the switch port; reset the port"};
}

/// Whether all risen errors are those of a RoCE network that drops packets; a link with bit errors would have others as
/// well.
bool is_loss(const std::vector<std::string>& risen, const Hcas& cards) {
  const bool ethernet = std::ranges::all_of(cards, [](const Hca& c) { return c.link_layer == "Ethernet"; });
  return ethernet && std::ranges::all_of(risen, [](const std::string& one) {
           return one.find("packet_seq_err") != std::string::npos || one.find("local_ack_timeout") != std::string::npos;
         });
}

Finding check_errors(const Hcas& before, const Hcas& after) {
  const std::vector<std::string> risen = risen_errors(before, after);
  if (!risen.empty()) {
    return {"hca.errors", FindingState::bad, "within a second: " + joined(risen), "no rise",
            is_loss(risen, after) ? "the network drops: " + std::string(advice_for_losses)
                                  : "leave the node out; clean or replace cable and transceiver"};
  }
  std::vector<std::string> old;
  for (const Hca& card : after) {
    for (const char* counter : {"symbol_error", "link_downed", "link_error_recovery"}) {
      const auto found = card.errors.find(counter);
      if (found != card.errors.end() && found->second > 0) {
        old.push_back(fmt::format("{} {} {}", card.name, counter, found->second));
      }
    }
  }
  if (old.empty()) return good("hca.errors", "none on the links, none rising");
  return {"hca.errors", FindingState::warning, joined(old), "0 since the counters were last cleared",
          "they do not rise now; clear them (perfquery -R) and look again after a run"};
}

}  // namespace

/// Error counters are read twice, a second apart.
Findings node_checks::check_hcas(const Examination& e) {
  const Hcas all = read_hcas(e.machine);
  if (all.empty()) {
    return {missing(
        "hca.count", e.expects_devices(), "no device in /sys/class/infiniband",
        e.expects_devices() ? fmt::format("{} cards, as {} says", e.profile->nics.per_node, e.profile->name) : "",
        "are the drivers loaded (mlx5_ib, efa)? In a container, is /sys/class/infiniband there?")};
  }
  const Hcas before = used_hcas(e, all);
  Findings out = {check_count(e, all)};
  if (before.empty()) return out;
  out.push_back(check_state(e, before));
  const bool has_layer = std::ranges::none_of(before, [](const Hca& card) { return card.link_layer.empty(); });
  if (has_layer && e.expects_verbs() && e.profile->fabric != Fabric::custom) {
    out.push_back(check_link_layer(e, before));
  }
  out.push_back(check_rate(e, before));
  if (e.machine.is_live()) std::this_thread::sleep_for(std::chrono::seconds(1));  // for what is rising
  out.push_back(check_errors(before, used_hcas(e, read_hcas(e.machine))));
  return out;
}

}  // namespace octet
