#include "src/cluster/environment/pair_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/base/options/text.h"
#include "src/cluster/environment/value_check.h"
#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

const std::string* value_of(const Environment& e, const std::string& name) {
  const auto found = e.find(name);
  return found == e.end() ? nullptr : &found->second;
}

/// The two counts of sockets have a bound on their product.
void add_sockets(const Environment& e, Findings& out) {
  const std::string *threads = value_of(e, "NCCL_SOCKET_NTHREADS"), *each = value_of(e, "NCCL_NSOCKS_PERTHREAD");
  if (threads == nullptr || each == nullptr) return;
  std::int64_t a = 0, b = 0;
  if (parse(*threads, a) && parse(*each, b) && a > 0 && b > 64 / a) {
    out.push_back({"NCCL_NSOCKS_PERTHREAD", FindingState::warning, *each,
                   fmt::format("at most {} with NCCL_SOCKET_NTHREADS={}", 64 / a, a),
                   "NCCL has at most 64 sockets a connection (NCCL docs, env)"});
  }
}

/// Least numbers that are above the largest.
void add_bounds(const Environment& e, Findings& out) {
  constexpr std::array<std::pair<const char*, const char*>, 3> bounds{{{"NCCL_MIN_CTAS", "NCCL_MAX_CTAS"},
                                                                       {"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"},
                                                                       {"NCCL_MIN_NRINGS", "NCCL_MAX_NRINGS"}}};
  for (const auto& [least, most] : bounds) {
    const std::string *low = value_of(e, least), *high = value_of(e, most);
    std::int64_t a = 0, b = 0;
    if (low == nullptr || high == nullptr) continue;
    if (parse(*low, a) && parse(*high, b) && a > b) {
      out.push_back(
          {least, FindingState::bad, *low, fmt::format("at most {}={}", most, *high), "the two contradict each other"});
    }
  }
}

/// NCCL reads the range as addresses of the family that it looks for, IPv4 unless told.
void add_address_range(const Environment& e, Findings& out) {
  const std::string *range = value_of(e, "NCCL_IB_ADDR_RANGE"), *family = value_of(e, "NCCL_IB_ADDR_FAMILY");
  if (range == nullptr || range->find('/') == std::string::npos) return;
  const bool six = range->find(':') != std::string::npos, wants_six = family != nullptr && *family == "AF_INET6";
  if (six == wants_six) return;
  out.push_back(
      {"NCCL_IB_ADDR_RANGE", FindingState::warning, *range,
       fmt::format("NCCL_IB_ADDR_FAMILY={} too, or a range of {}", six ? "AF_INET6" : "AF_INET", six ? "IPv4" : "IPv6"),
       "NCCL leaves a range of the other family out silently (NCCL's source, net_ib)"});
}

/// TCP goes over interfaces, which have other names than verbs devices.
void add_ucx_transports(const Environment& e, Findings& out) {
  const std::string *transports = value_of(e, "UCX_TLS"), *devices = value_of(e, "UCX_NET_DEVICES");
  if (transports == nullptr || devices == nullptr) return;
  const std::vector<std::string> tls = split(*transports, ','), names = parse_devices(*devices).names;
  const bool tcp_alone = std::ranges::all_of(
      tls, [](const std::string& t) { return t == "tcp" || t == "self" || t == "sm" || t == "shm"; });
  const bool verbs_alone = std::ranges::all_of(
      names, [](const std::string& name) { return name.starts_with("mlx") || name.starts_with("bnxt_re"); });
  if (!tcp_alone || !verbs_alone) return;
  out.push_back({"UCX_NET_DEVICES", FindingState::bad, *devices,
                 fmt::format("interfaces, as ip link lists them, with UCX_TLS={}", *transports),
                 "TCP does not go over verbs devices: UCX finds no way to other nodes, and MPI does not start"});
}

/// NCCL takes the network whose name NCCL_NET has, and has two of its own; all others come with plugins.
void add_plugin(const Environment& e, Findings& out) {
  const std::string *net = value_of(e, "NCCL_NET"), *plugin = value_of(e, "NCCL_NET_PLUGIN");
  if (net == nullptr) return;
  if (net->empty()) {
    out.push_back({"NCCL_NET", FindingState::bad, "", "the name of a network, or no such variable",
                   "NCCL compares the empty name with those of its networks, and ends at start (NCCL's source, net)"});
    return;
  }
  if (net->find(',') != std::string::npos) {
    out.push_back({"NCCL_NET", FindingState::bad, *net, "the name of one network",
                   "NCCL compares the whole text with the names of its networks, and ends at start (NCCL's source, "
                   "net)"});
    return;
  }
  if (plugin == nullptr) return;
  const bool own = same_text(*net, "IB") || same_text(*net, "Socket");
  const bool off = plugin->empty() || same_text(*plugin, "none");
  if (own && !off) {
    out.push_back(
        {"NCCL_NET_PLUGIN", FindingState::warning, *plugin,
         fmt::format("none, or the name of the plugin's network in NCCL_NET in place of {}", *net),
         fmt::format("NCCL_NET={} is NCCL's own network: that of the plugin is not used (NCCL's source, net)", *net)});
  }
  if (own || !off) return;
  out.push_back({"NCCL_NET_PLUGIN", FindingState::bad, *plugin,
                 fmt::format("the plugin that has {}, or no such variable", *net),
                 fmt::format("NCCL_NET={}: that network comes with a plugin, and plugins are turned off: NCCL ends at "
                             "start (NCCL's source, net)",
                             *net)});
}

}  // namespace

Findings pair_findings(const Environment& e) {
  Findings out;
  add_sockets(e, out);
  add_bounds(e, out);
  add_ucx_transports(e, out);
  add_plugin(e, out);
  add_address_range(e, out);
  return out;
}

bool is_libfabric(const std::string& net) {
  return same_text(net, "AWS Libfabric") || same_text(net, "Libfabric") || same_text(net, "OFI");
}

std::string traffic_class_problem(std::int64_t value) {
  constexpr std::array<std::int64_t, 22> common = {0,  8,  10, 12, 14, 16, 18, 20, 22, 24, 26,
                                                   28, 30, 32, 34, 36, 38, 40, 44, 46, 48, 56};
  const auto is_common = [&](std::int64_t dscp) { return std::ranges::count(common, dscp) > 0; };
  if (!is_common(value) || is_common(value / 4)) return "";
  return fmt::format(
      "is DSCP {} with ECN bits {}: a traffic class is 4 * DSCP + ECN; if DSCP {} was meant, it is {}, or "
      "{} with ECT(0)",
      value / 4, value % 4, value, 4 * value, 4 * value + 2);
}

}  // namespace octet
