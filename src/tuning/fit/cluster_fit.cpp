#include "src/tuning/fit/cluster_fit.h"
#include "src/tuning/cost_model/tuned_constants.h"

#include <map>

#include "src/base/error.h"
#include "src/cluster/machine/known_versions.h"
#include "src/tuning/fit/bandwidths.h"
#include "src/tuning/fit/fit_constants.h"
#include "src/tuning/fit/pins.h"
#include "src/tuning/fit/predict.h"

namespace octet {
namespace {

Version numbers_of(const std::string& version) {
  Version numbers = parse_version(version);
  if (numbers.size() < 2) throw usage_error("tuning", "NCCL \"{}\": expected a version such as 2.28.9", version);
  return numbers;
}

/// What files and option say, which have to agree.
std::string version_of(const std::vector<BenchmarkFile>& files, const std::string& option) {
  std::string said = option, by = "--nccl";
  for (const BenchmarkFile& file : files) {
    if (file.nccl.empty()) continue;
    if (said.empty()) said = file.nccl, by = file.path;
    const Version one = numbers_of(file.nccl), other = numbers_of(said);
    if (one[0] != other[0] || one[1] != other[1]) {
      throw usage_error("tuning", "{} was measured with NCCL {}, but {} says {}; a tuning file is of one release",
                        file.path, file.nccl, by, said);
    }
  }
  if (said.empty()) throw usage_error("tuning", "no file says with which NCCL it was measured; give --nccl VERSION");
  return has_cost_model(said) ? to_text(parse_nccl_version(said)) : to_text(numbers_of(said));
}

/// One pair alone is a run on two nodes, and no sweep.
std::vector<PairSweep> sweeps_of(const std::vector<BenchmarkFile>& files, std::vector<std::string>& notes) {
  std::map<std::string, std::vector<PairTime>> by_what;
  for (const BenchmarkFile& file : files) {
    for (const PairTime& pair : file.pairs) by_what[pair.what].push_back(pair);
  }
  std::vector<PairSweep> sweeps;
  for (const auto& [what, pairs] : by_what) {
    PairSweep sweep{what, find_sick(pairs)};
    if (sweep.report.unsure.empty()) {
      sweeps.push_back(std::move(sweep));
    } else if (pairs.size() > 1) {
      notes.push_back(fmt::format("{}: {}", what, sweep.report.unsure));
    }
  }
  return sweeps;
}

/// Sets rows aside in which a tuner chose: that says nothing about NCCL's own choice, and a fit to the choices of our
/// tuner would repeat these. Where algorithm and protocol are forced, a row is the same with a tuner and without.
std::vector<Measurement> rows_of(const BenchmarkFile& file, std::vector<std::string>& notes) {
  std::vector<Measurement> rows;
  std::map<std::string, int> by_tuner;
  for (const Measurement& row : file.rows) {
    if (row.tuner.empty() || (row.algorithm && row.protocol)) {
      rows.push_back(row);
    } else {
      ++by_tuner[row.tuner];
    }
  }
  for (const auto& [tuner, count] : by_tuner) {
    notes.push_back(
        fmt::format("{}: {} rows set aside: measured under {}, which chose in place of NCCL; expected none "
                    "(NCCL_TUNER_PLUGIN=none), or both NCCL_ALGO and NCCL_PROTO",
                    file.path, count, tuner));
  }
  return rows;
}

/// Why the tuning file has no line for a group; empty: it has one.
std::string why_dropped(const FittedGroup& group) {
  if (!group.fit) return group.why_not;
  if (!group.algorithm && !group.protocol) return "no single algorithm; it counts for choices";
  if (!group.algorithm) return "its algorithm is not known; set NCCL_ALGO or give --algo";
  return group.protocol ? "" : "its protocol is not known; set NCCL_PROTO or give --proto";
}

void add_fits(const std::vector<FittedGroup>& groups, TuningFile& tuning) {
  for (const FittedGroup& group : groups) {
    if (const std::string why = why_dropped(group); !why.empty()) {
      tuning.provenance.notes.push_back(fmt::format("{}: not in the tuning file: {}", name_of(group), why));
      continue;
    }
    if (!nccl_has(group.collective, *group.algorithm, *group.protocol)) {
      throw usage_error("tuning",
                        "{}: {} says so, but NCCL has no such kernel; did NCCL_ALGO, NCCL_PROTO or an "
                        "option name another?",
                        name_of(group), group.sources.front());
    }
    tuning.fits.push_back(tuned_fit(*group.fit, group.collective, *group.algorithm, *group.protocol, group.shape));
  }
}

void add_sick(const ClusterFit& fit, std::vector<std::string>& notes) {
  for (const PairSweep& sweep : fit.sweeps) {
    for (const SickNode& n : sweep.report.nodes) {
      notes.push_back(fmt::format("node {} is sick: all its {} pairs are slow, {:.2f} times as long ({})", n.node,
                                  n.pairs, n.slowdown, sweep.what));
    }
    for (const SickLink& l : sweep.report.links) {
      notes.push_back(fmt::format("the link {} - {} is sick: {:.2f} times as long as either with others ({})", l.first,
                                  l.second, l.slowdown, sweep.what));
    }
  }
}

/// What the fits say of the cost model of the NCCL measured.
void judge_model(const ClusterProfile& profile, ClusterFit& out) {
  TuningFile& tuning = out.tuning;
  std::vector<std::string>& notes = tuning.provenance.notes;
  const NcclVersion version = parse_nccl_version(tuning.nccl);
  const NcclMachine machine = machine_of(profile);
  if (!search_is_known(version)) {
    notes.push_back(fmt::format(
        "NCCL {}: constants and choices are judged with the channels that 2.29 would search out; compare them with "
        "NCCL_GRAPH_DUMP_FILE",
        tuning.nccl));
  }
  FittedConstants fitted = fit_constants(version, machine, tuning.fits);
  tuning.constants = std::move(fitted.constants);
  out.constants = std::move(fitted.notes);
  FittedBandwidths rates =
      fit_bandwidths(version, machine, with_tuned(default_constants(version), tuning.constants), out.groups);
  tuning.constants.bandwidth = std::move(rates.limits);
  out.constants.insert(out.constants.end(), rates.notes.begin(), rates.notes.end());
  notes.insert(notes.end(), out.constants.begin(), out.constants.end());
  const ModelConstants constants = with_tuned(default_constants(version), tuning.constants);
  Pins pins = find_pins(version, machine, constants, !tuning.constants.empty(), out.groups);
  tuning.choices = std::move(pins.choices);
  notes.insert(notes.end(), pins.notes.begin(), pins.notes.end());
}

}  // namespace

ClusterFit fit_cluster(const std::vector<BenchmarkFile>& files, const ClusterProfile& profile,
                       const std::string& nccl) {
  ClusterFit out;
  TuningFile& tuning = out.tuning;
  tuning.cluster = profile.name;
  tuning.fabric = name_of(profile.fabric);
  tuning.nccl = version_of(files, nccl);
  std::vector<Measurement> rows;
  std::vector<std::string>& notes = tuning.provenance.notes;
  std::map<std::string, std::string> seen;  // by content
  for (const BenchmarkFile& file : files) {
    const auto [first, is_new] = seen.emplace(file.hash, file.path);
    if (!is_new && !file.hash.empty()) {
      notes.push_back(fmt::format("{}: has the content of {}, and counts once", file.path, first->second));
      continue;
    }
    const std::vector<Measurement> usable = rows_of(file, notes);
    tuning.provenance.measurements.push_back(
        {.file = file.path, .rows = static_cast<std::int64_t>(usable.size()), .hash = file.hash});
    rows.insert(rows.end(), usable.begin(), usable.end());
    notes.insert(notes.end(), file.notes.begin(), file.notes.end());
    for (const std::string& finding : file.findings) notes.push_back(file.path + ": " + finding);
    for (const std::string& gpu : file.gpus) {
      const std::string_view kind = gpu_kind(gpu);
      if (gpu.empty() || kind == gpu_kind(profile.gpus.type)) continue;
      notes.push_back(fmt::format("{}: was measured on {}, and {} has {}: what is fitted need not hold there",
                                  file.path, kind.empty() ? gpu : kind, profile.name, profile.gpus.type));
    }
  }
  out.groups = fit_groups(rows);
  out.sweeps = sweeps_of(files, notes);
  add_sick(out, notes);
  add_fits(out.groups, tuning);

  out.has_model = has_cost_model(tuning.nccl);
  if (out.has_model) {
    judge_model(profile, out);
  } else {
    notes.push_back(fmt::format(
        "NCCL {}: no cost model of it is known here (2.27 to 2.30 are): no constants and no choices", tuning.nccl));
  }
  return out;
}

}  // namespace octet
