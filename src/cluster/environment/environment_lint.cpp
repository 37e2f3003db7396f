#include "src/cluster/environment/environment_lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/base/options/text.h"
#include "src/cluster/doctor/known_versions.h"
#include "src/cluster/doctor/text_lines.h"
#include "src/cluster/environment.h"
#include "src/cluster/environment/value_check.h"

namespace octet {
namespace {

constexpr std::array<std::pair<std::string_view, Reader>, 7> prefixes{{{"NCCL_", Reader::nccl},
                                                                       {"TORCH_NCCL_", Reader::pytorch},
                                                                       {"UCX_", Reader::ucx},
                                                                       {"MPICH_", Reader::mpich},
                                                                       {"MPIR_", Reader::mpich},
                                                                       {"FI_", Reader::libfabric},
                                                                       {"OFI_NCCL_", Reader::nccl}}};

std::optional<Reader> reader_of(const std::string& name) {
  for (const auto& [prefix, reader] : prefixes) {
    if (name.starts_with(prefix)) return reader;
  }
  return std::nullopt;
}

/// One pass over one environment.
class Linter {
 public:
  Linter(const VariableTable& table, const Environment& environment, const std::string& nccl,
         const ClusterProfile* profile, const LocalDevices* devices)
      : table_(table), environment_(environment), nccl_(nccl), profile_(profile), devices_(devices) {}

  Findings run() {
    for (const auto& [name, value] : environment_) {
      if (is_linted(name)) explain(name, value);
    }
    add_unset();
    add_sockets();
    add_bounds();
    add_ucx_transports();
    add_reviews();
    return std::move(out_);
  }

 private:
  void add(const std::string& name, State state, std::string expected, std::string advice) {
    const auto found = environment_.find(name);
    out_.push_back(
        {name, state, found == environment_.end() ? "not set" : found->second, std::move(expected), std::move(advice)});
  }
  /// Values of the profile's job whose reason was one of older releases.
  void add_reviews() {
    if (profile_ == nullptr || nccl_.empty()) return;
    for (const EnvironmentValue& v : job_environment(*profile_, "/")) {
      const auto found = environment_.find(v.name);
      if (v.review.empty() || found == environment_.end() || found->second != v.value) continue;
      if (!in_range(parse_version(nccl_), v.review, "")) continue;
      add(v.name, State::warning, "",
          fmt::format("set for NCCL before {}, since {}: measure without it", v.review, v.reason));
    }
  }
  void warn(const Variable& v, std::string advice) { add(v.name, State::warning, "", std::move(advice)); }

  void explain(const std::string& name, const std::string& value) {
    const Variable* v = table_.find(name);
    if (v == nullptr) return add_unknown(name);
    const std::size_t before = out_.size();
    if (!has_effect(*v)) return;
    check_value(*v, value);
    check_devices(*v, value);
    check_fabric(*v, value);
    for (const Caution& c : table_.cautions) {
      if (c.name == name && applies(c) && holds(c.values, *v, value)) {
        const auto other = environment_.find(c.with);
        const std::string with = other == environment_.end() ? "" : fmt::format("{}={}: ", c.with, other->second);
        add(name, c.state, "", fmt::format("{}{} ({})", with, c.text, c.source));
      }
    }
    if (out_.size() > before) return;
    const bool standard = !v->standard.empty() && same_value(*v, value, v->standard);
    add(name, State::ok, "", fmt::format("{} ({}){}", v->does, v->source, standard ? "; this is the default" : ""));
  }

  void add_unknown(const std::string& name) {
    const Reader reader = reader_of(name).value();
    std::vector<std::string> names;
    for (const Variable& v : table_.variables) names.push_back(v.name);
    const std::string near = nearest(name, names);
    const std::string hint = edit_distance(name, near) <= 2 ? fmt::format("; nearest: {}", near) : "";
    if (reader == Reader::nccl && !name.starts_with("OFI_")) {
      return add(name, State::warning, "a variable that NCCL has",
                 "no release of NCCL from 2.18 to 2.30 reads it" + hint);
    }
    add(name, State::warning, "",
        fmt::format("not among the variables of {} that this list has{}", name_of(reader), hint));
  }

  /// Adds a finding and says no where nothing reads the variable here.
  bool has_effect(const Variable& v) {
    if (v.reader == Reader::nobody) return warn(v, fmt::format("has no effect: {} ({})", v.does, v.source)), false;
    if (v.reader == Reader::pytorch) {
      return warn(v, fmt::format("has no effect here: PyTorch reads it, and Octet is no PyTorch: {} ({})", v.does,
                                 v.source)),
             false;
    }
    if (v.reader != Reader::nccl) return true;
    if (profile_ != nullptr && profile_->gpus.per_node == 0) {
      return warn(v, fmt::format("has no effect: {} has no GPUs, and NCCL is not used", profile_->name)), false;
    }
    const Version release = parse_version(nccl_);
    if (!release.empty() && !in_range(release, v.since, v.until)) {
      const bool early = !in_range(release, v.since, "");
      return warn(v, fmt::format("has no effect: NCCL {} does not read it, {} {} does", nccl_, early ? "from" : "up to",
                                 early ? v.since : v.until)),
             false;
    }
    if (!carries(v.transport)) {
      return warn(v, fmt::format("has no effect: traffic between nodes does not go that way ({})", carrier()->second)),
             false;
    }
    return true;
  }

  void check_value(const Variable& v, const std::string& value) {
    if (const std::string problem = value_problem(v, value); !problem.empty()) {
      add(v.name, v.kind == ValueKind::selection ? State::bad : State::warning, problem,
          fmt::format("{} ({})", v.does, v.source));
    }
    if (v.kind != ValueKind::devices) return;
    static const std::vector<std::string> none;
    const std::string problem = device_list_problem(value, profile_ == nullptr ? none : profile_->nics.hca);
    if (!problem.empty())
      add(v.name, State::warning, "names behind =, which match whole, of the cards for training", problem);
  }

  /// Names that this machine does not have.
  void check_devices(const Variable& v, const std::string& value) {
    if (devices_ == nullptr) return;
    const Finding f = device_finding(v, value, *devices_);
    if (!f.advice.empty()) add(v.name, f.state, "", f.advice);
  }

  /// Values that take the traffic off the profile's fabric.
  void check_fabric(const Variable& v, const std::string& value) {
    if (profile_ == nullptr || profile_->nics.per_node == 0) return;
    const bool sockets = v.name == "NCCL_NET" && same_text(value, "Socket");
    // With NCCL_NET=IB it is a contradiction, of which NCCL ends (cautions).
    const bool no_verbs = v.name == "NCCL_IB_DISABLE" && value == "1" && profile_->fabric != Fabric::efa &&
                          !environment_.contains("NCCL_NET");
    if (sockets || no_verbs) {
      add(v.name, State::bad, fmt::format("the fabric of {}", profile_->name),
          "all traffic between nodes would go over TCP sockets");
    }
  }

  /// What carries NCCL's traffic between nodes, with the text that says so; nothing where it is not known.
  std::optional<std::pair<Transport, std::string>> carrier() const {
    const auto net = environment_.find("NCCL_NET");
    if (net != environment_.end()) {
      const std::string text = "NCCL_NET=" + net->second;
      if (same_text(net->second, "Socket")) return {{Transport::socket, text}};
      if (same_text(net->second, "IB") && fabric_is_roce()) return {{Transport::roce, text}};
      if (same_text(net->second, "IB")) return {{Transport::verbs, text}};
      if (same_text(net->second, "AWS Libfabric")) return {{Transport::efa, text}};
    }
    if (profile_ == nullptr || profile_->fabric == Fabric::none) return std::nullopt;
    const std::string text = fmt::format("fabric of {}: {}", profile_->name, name_of(profile_->fabric));
    switch (profile_->fabric) {
      case Fabric::infiniband:
        return {{Transport::verbs, text}};
      case Fabric::roce:
      case Fabric::custom:
        return {{Transport::roce, text}};
      case Fabric::efa:
        return {{Transport::efa, text}};
      default:
        return {{Transport::socket, text}};
    }
  }
  bool fabric_is_roce() const { return profile_ == nullptr || profile_->fabric != Fabric::infiniband; }

  bool carries(Transport wanted) const {
    const auto now = carrier();
    if (wanted == Transport::any || !now) return true;
    return now->first == wanted || (wanted == Transport::verbs && now->first == Transport::roce);
  }

  /// Releases are compared where the one that runs is known, and a caution for all of them always holds.
  bool applies(const Caution& c) const {
    if (!c.with.empty() && !holds_with(c)) return false;
    if (c.first.empty() && c.last.empty()) return true;
    return !nccl_.empty() && in_range(parse_version(nccl_), c.first, c.last);
  }

  bool holds_with(const Caution& c) const {
    const auto other = environment_.find(c.with);
    if (other == environment_.end()) return std::ranges::count(c.with_values, "unset") > 0;
    const Variable* v = table_.find(c.with);
    return v != nullptr && holds(c.with_values, *v, other->second);
  }

  static bool holds(const std::vector<std::string>& values, const Variable& v, const std::string& value) {
    return std::ranges::any_of(values, [&](const std::string& one) { return one == "*" || same_value(v, one, value); });
  }

  /// Cautions about defaults, on machines that have GPUs.
  void add_unset() {
    if (profile_ == nullptr || profile_->gpus.per_node == 0) return;
    for (const Caution& c : table_.cautions) {
      const bool unset = std::ranges::count(c.values, "unset") > 0 && !environment_.contains(c.name);
      if (unset && applies(c)) add(c.name, c.state, "", fmt::format("{} ({})", c.text, c.source));
    }
  }

  /// The two counts of sockets have a bound on their product.
  void add_sockets() {
    const auto threads = environment_.find("NCCL_SOCKET_NTHREADS"), each = environment_.find("NCCL_NSOCKS_PERTHREAD");
    if (threads == environment_.end() || each == environment_.end()) return;
    std::int64_t a = 0, b = 0;
    if (parse(threads->second, a) && parse(each->second, b) && a > 0 && b > 64 / a) {
      add("NCCL_NSOCKS_PERTHREAD", State::warning, fmt::format("at most {} with NCCL_SOCKET_NTHREADS={}", 64 / a, a),
          "NCCL has at most 64 sockets a connection (NCCL docs, env)");
    }
  }

  /// Least numbers that are above the largest.
  void add_bounds() {
    constexpr std::array<std::pair<const char*, const char*>, 3> bounds{{{"NCCL_MIN_CTAS", "NCCL_MAX_CTAS"},
                                                                         {"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"},
                                                                         {"NCCL_MIN_NRINGS", "NCCL_MAX_NRINGS"}}};
    for (const auto& [least, most] : bounds) {
      const auto low = environment_.find(least), high = environment_.find(most);
      std::int64_t a = 0, b = 0;
      if (low == environment_.end() || high == environment_.end()) continue;
      if (parse(low->second, a) && parse(high->second, b) && a > b) {
        add(least, State::bad, fmt::format("at most {}={}", most, high->second), "the two contradict each other");
      }
    }
  }

  /// TCP goes over interfaces, which have other names than verbs devices.
  void add_ucx_transports() {
    const auto transports = environment_.find("UCX_TLS"), devices = environment_.find("UCX_NET_DEVICES");
    if (transports == environment_.end() || devices == environment_.end()) return;
    const std::vector<std::string> tls = split(transports->second, ','), names = parse_devices(devices->second).names;
    const bool tcp_alone = std::ranges::all_of(
        tls, [](const std::string& t) { return t == "tcp" || t == "self" || t == "sm" || t == "shm"; });
    const bool verbs_alone = std::ranges::all_of(
        names, [](const std::string& name) { return name.starts_with("mlx") || name.starts_with("bnxt_re"); });
    if (!tcp_alone || !verbs_alone) return;
    add("UCX_NET_DEVICES", State::bad,
        fmt::format("interfaces, as ip link lists them, with UCX_TLS={}", transports->second),
        "TCP does not go over verbs devices: UCX finds no way to other nodes, and MPI does not start");
  }

  const VariableTable& table_;
  const Environment& environment_;
  std::string nccl_;
  const ClusterProfile* profile_;
  const LocalDevices* devices_;
  Findings out_;
};

}  // namespace

bool is_linted(const std::string& name) {
  return reader_of(name).has_value();
}

Findings lint(const VariableTable& table, const Environment& environment, const std::string& nccl_version,
              const ClusterProfile* profile, const LocalDevices* devices) {
  return Linter(table, environment, nccl_version, profile, devices).run();
}

}  // namespace octet
