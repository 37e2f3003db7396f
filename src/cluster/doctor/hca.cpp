#include "src/cluster/doctor/hca.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

constexpr const char* folder = "/sys/class/infiniband/";

// Below ports/1/counters and ports/1/hw_counters (those of mlx5: retransmissions of RoCE).
constexpr const char* counters[] = {
    "counters/symbol_error",
    "counters/link_error_recovery",
    "counters/link_downed",
    "counters/port_rcv_errors",
    "counters/local_link_integrity_errors",
    "counters/excessive_buffer_overrun_errors",
    "hw_counters/local_ack_timeout_err",
    "hw_counters/packet_seq_err",
};

Hca read_hca(const Machine& machine, const std::string& name) {
  const std::string port = folder + name + "/ports/1/";
  const std::string state = machine.read(port + "state").value_or("?");  // "4: ACTIVE"
  Hca out{.name = name,
          .state = split(state, ':').back(),
          .link_layer = machine.read(port + "link_layer").value_or(""),
          .firmware = machine.read(folder + name + "/fw_ver").value_or(""),
          .rate = machine.read(port + "rate").value_or("unknown"),
          .model = machine.read(folder + name + "/board_id").value_or(""),
          .errors = {}};
  for (const std::string counter : counters) {
    if (const auto value = machine.read_number(port + counter)) {
      out.errors[counter.substr(counter.find('/') + 1)] = *value;
    }
  }
  return out;
}

}  // namespace

long long Hca::gbps() const {
  long long value = 0;
  std::from_chars(rate.data(), rate.data() + rate.size(), value);
  return value;
}

std::vector<Hca> read_hcas(const Machine& machine) {
  std::vector<Hca> out;
  for (const std::string& name : machine.list(folder)) out.push_back(read_hca(machine, name));
  return out;
}

std::vector<Hca> used_hcas(const Examination& e, std::vector<Hca> all) {
  if (!e.expects_verbs() || e.profile->nics.hca.empty()) return all;
  std::erase_if(all, [&](const Hca& card) { return std::ranges::count(e.profile->nics.hca, card.name) == 0; });
  return all;
}

std::vector<std::string> risen_errors(const std::vector<Hca>& before, const std::vector<Hca>& after) {
  std::vector<std::string> out;
  for (const Hca& now : after) {
    const auto then = std::ranges::find(before, now.name, &Hca::name);
    if (then == before.end()) continue;
    for (const auto& [counter, value] : now.errors) {
      const auto old = then->errors.find(counter);
      if (old != then->errors.end() && value > old->second) {
        out.push_back(fmt::format("{} {} +{}", now.name, counter, value - old->second));
      }
    }
  }
  return out;
}

}  // namespace octet
