#include "src/cluster/environment/environment_lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "src/cluster/environment/carrier.h"
#include "src/cluster/environment/cautions.h"
#include "src/cluster/environment/job_environment.h"
#include "src/cluster/environment/pair_rules.h"
#include "src/cluster/environment/selection.h"
#include "src/cluster/environment/unknown_variable.h"
#include "src/cluster/environment/value_check.h"
#include "src/cluster/machine/known_versions.h"
#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

/// One pass over one environment.
class Linter {
 public:
  Linter(const VariableTable& table, const Environment& environment, const std::string& nccl,
         const ClusterProfile* profile, const LocalDevices* devices)
      : table_(table),
        environment_(environment),
        nccl_(nccl),
        profile_(profile),
        devices_(devices),
        carrier_(carrier_of(environment, profile)) {
    if (profile == nullptr) return;
    for (const EnvironmentValue& v : job_environment(*profile, "/")) job_[v.name] = v;
  }

  Findings run() {
    for (const auto& [name, value] : environment_) {
      if (!is_linted(name)) continue;
      const std::size_t before = out_.size();
      explain(name, value);
      add_job_value(name, value, before);
    }
    add_unset();
    add_pairs();
    add_reviews();
    return std::move(out_);
  }

 private:
  /// Where the job sets another value, says so in the advice of each finding from `first` on.
  void add_job_value(const std::string& name, const std::string& value, std::size_t first) {
    const auto of_job = job_.find(name);
    if (of_job == job_.end() || of_job->second.value == value) return;
    for (std::size_t i = first; i < out_.size(); ++i) {
      out_[i].advice += fmt::format("; the job of {} sets \"{}\"", profile_->name, of_job->second.value);
    }
  }

  void add(const std::string& name, FindingState state, std::string expected, std::string advice) {
    const auto found = environment_.find(name);
    out_.push_back(
        {name, state, found == environment_.end() ? "not set" : found->second, std::move(expected), std::move(advice)});
  }
  void add_pairs() {
    for (Finding& f : pair_findings(environment_)) {
      std::erase_if(out_, [&](const Finding& one) { return one.check == f.check && one.state == FindingState::ok; });
      out_.push_back(std::move(f));
    }
  }
  /// Warns of values that the job sets for a reason that only older releases of NCCL had.
  void add_reviews() {
    if (profile_ == nullptr || nccl_.empty()) return;
    for (const auto& [name, v] : job_) {
      const auto found = environment_.find(name);
      if (v.review.empty() || found == environment_.end() || found->second != v.value) continue;
      if (!in_range(parse_version(nccl_), v.review, "")) continue;
      add(v.name, FindingState::warning, "",
          fmt::format("set for NCCL before {}, because {}; this release may not need it any more: measure without it",
                      v.review, v.reason));
    }
  }
  void take(Findings findings) { std::ranges::move(findings, std::back_inserter(out_)); }
  void warn(const Variable& v, std::string advice) { add(v.name, FindingState::warning, "", std::move(advice)); }

  void explain(const std::string& name, const std::string& value) {
    if (!name.starts_with("NCCL_") && reader_of(name) == Reader::nccl && !name.starts_with("OFI_")) {
      return add_small_letters(name);
    }
    const Variable* v = table_.find(name);
    if (v == nullptr) return out_.push_back(unknown_variable(table_, environment_, name));
    const std::size_t before = out_.size();
    if (!has_effect(*v)) return;
    if (value.empty() && is_as_not_set(*v)) {
      return warn(*v, "has no effect: NCCL takes an empty text as if it were not set");
    }
    check_value(*v, value);
    check_algorithms(*v, value);
    check_traffic_class(*v, value);
    check_devices(*v, value);
    check_fabric(*v, value);
    take(cautions_of(*v, value, table_, environment_, nccl_));
    if (out_.size() > before) return;
    const bool standard = !v->standard.empty() && same_value(*v, v->standard, value);
    add(name, FindingState::ok, "",
        fmt::format("{} ({}){}", v->does, v->source, standard ? "; this is the default" : ""));
  }

  /// Whether NCCL takes an empty text for this variable as if it were not set.
  static bool is_as_not_set(const Variable& v) {
    return v.name.starts_with("NCCL_") && v.kind != ValueKind::text && v.kind != ValueKind::choice;
  }

  void add_small_letters(const std::string& name) {
    std::string capitals = name;
    std::ranges::transform(capitals, capitals.begin(), [](unsigned char c) { return std::toupper(c); });
    add(name, FindingState::warning, capitals, "has no effect: NCCL's names are of capitals");
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
    if (!carries(carrier_, v.transport)) {
      return warn(v, fmt::format("has no effect: traffic between nodes does not go that way ({})", carrier_->text)),
             false;
    }
    return true;
  }

  void check_value(const Variable& v, const std::string& value) {
    const NcclNumber number = read_as_nccl(value);
    const bool misread = v.kind == ValueKind::integer && v.name.starts_with("NCCL_") && !number.whole && number.value;
    const bool selects = v.kind == ValueKind::selection;
    const std::string problem = selects ? parse_selection(v, value).problem : value_problem(v, value);
    if (!problem.empty()) {
      const bool ends = selects || (misread && number.changed);
      const std::string reads = misread ? fmt::format("NCCL reads {}: ", *number.value) : "";
      add(v.name, ends ? FindingState::bad : FindingState::warning, problem,
          fmt::format("{}{} ({})", reads, v.does, v.source));
    }
    if (v.kind != ValueKind::devices) return;
    static const std::vector<std::string> none;
    const std::string devices = device_list_problem(value, profile_ == nullptr ? none : profile_->nics.hca);
    if (!devices.empty())
      add(v.name, FindingState::warning, "names behind =, which match whole, of the cards for training", devices);
  }

  /// Selections that leave a collective of a training without an algorithm. A job is taken to have several nodes.
  void check_algorithms(const Variable& v, const std::string& value) {
    if (v.name != "NCCL_ALGO" || (!nccl_.empty() && !in_range(parse_version(nccl_), "2.24", ""))) return;
    const Selection selection = parse_selection(v, value);
    if (!selection.problem.empty()) return;
    const auto is = [&](const char* name, const char* number) {
      const auto found = environment_.find(name);
      return found != environment_.end() && found->second == number;
    };
    const AlgorithmLimits limits{.one_node = profile_ != nullptr && profile_->nodes.count == 1,
                                 .one_rank_a_node = profile_ != nullptr && profile_->ranks_per_node() == 1,
                                 .nvls = !is("NCCL_NVLS_ENABLE", "0"),
                                 .sharp = is("NCCL_COLLNET_ENABLE", "1")};
    const std::string lost = without_algorithm(selection, limits);
    if (lost.empty()) return;
    add(v.name, FindingState::bad, "",
        fmt::format(
            "leaves without an algorithm {}: {}; since 2.24 NCCL does not fall back on rings, it ends (NCCL docs, "
            "env; NCCL's source, tuning)",
            limits.one_node ? "on one node" : "between nodes", lost));
  }

  /// Warns where a RoCE traffic class looks like a DSCP that was written in its place.
  void check_traffic_class(const Variable& v, const std::string& value) {
    if (v.name != "NCCL_IB_TC" && v.name != "NCCL_IB_FIFO_TC") return;
    if (!carries(carrier_, Transport::roce)) return;
    if (const std::string problem = traffic_class_problem(read_as_nccl(value).value.value_or(-1)); !problem.empty()) {
      warn(v, problem);
    }
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
    // With NCCL_NET=IB it is a contradiction at which NCCL ends: the cautions tell of that.
    const bool no_verbs = v.name == "NCCL_IB_DISABLE" && value == "1" && profile_->fabric != Fabric::efa &&
                          !environment_.contains("NCCL_NET");
    if (sockets || no_verbs) {
      add(v.name, FindingState::bad, fmt::format("the fabric of {}", profile_->name),
          "all traffic between nodes would go over TCP sockets");
    }
  }

  /// Tells what defaults do where variables are not set, on machines that have GPUs. A variable that the job will set
  /// counts as set.
  void add_unset() {
    if (profile_ == nullptr || profile_->gpus.per_node == 0) return;
    Environment all = environment_;
    if (!all.contains("SLURM_JOB_ID")) {  // in a job, what is not set has got lost
      for (const auto& [name, v] : job_) all[name] = v.value;
    }
    take(cautions_of_unset(table_, all, nccl_));
    if (profile_->fabric == Fabric::roce && carries(carrier_, Transport::roce) && !all.contains("NCCL_IB_TC")) {
      add("NCCL_IB_TC", FindingState::ok, "",
          "traffic goes out with DSCP 0, or what the cards give it: right where the switches have no other lossless "
          "class; else nics.traffic_class (docs/tuning/roce.md)");
    }
  }

  const VariableTable& table_;
  const Environment& environment_;
  std::string nccl_;
  const ClusterProfile* profile_;
  const LocalDevices* devices_;
  std::optional<Carrier> carrier_;
  std::map<std::string, EnvironmentValue> job_;  ///< what the profile's job sets
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
