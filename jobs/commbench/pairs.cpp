#include <algorithm>
#include <array>
#include <memory>

#include "jobs/commbench/parts.h"
#include "src/base/progress.h"
#include "src/comm/watchdog.h"
#include "src/tuning/pairwise.h"

namespace octet::commbench {
namespace {

/// The ranks that meet: of each node so many, or each rank for itself.
struct Teams {
  std::vector<std::string> names;
  std::vector<std::vector<int>> ranks;  ///< by team
};

Teams teams_of(const Context& context) {
  Teams out;
  for (int rank = 0; rank < context.hosts.size(); ++rank) {
    const std::string& node = context.node_of[static_cast<std::size_t>(rank)];
    const auto known = std::ranges::find(out.names, node);
    if (context.options.pairs == "ranks") {
      out.names.push_back(fmt::format("{}.{}", node, rank));
      out.ranks.push_back({rank});
    } else if (known == out.names.end()) {
      out.names.push_back(node);
      out.ranks.push_back({rank});
    } else {
      out.ranks[static_cast<std::size_t>(known - out.names.begin())].push_back(rank);
    }
  }
  return out;
}

void check(const Context& context, const Teams& teams) {
  if (teams.names.size() < 2) {
    throw usage_error("commbench", "--pairs {}: all ranks are on {}, expected two nodes at least (or --pairs ranks)",
                      context.options.pairs, context.node_of.front());
  }
  for (std::size_t i = 1; i < teams.ranks.size(); ++i) {
    if (teams.ranks[i].size() == teams.ranks.front().size()) continue;
    throw usage_error("commbench", "--pairs nodes: {} has {} ranks and {} has {}, expected as many on each",
                      teams.names.front(), teams.ranks.front().size(), teams.names[i], teams.ranks[i].size());
  }
}

/// Medians of one rank with one other, in microseconds, as this rank's clock saw them.
struct Meeting {
  double both = 0;  ///< both send at once
  double to = 0;    ///< this rank sends all, the other answers with a byte
};

/// Sends and receives of one rank with a peer.
class Match {
 public:
  Match(const Context& context, Communicator& world, std::int64_t bytes)
      : world_(world),
        bytes_(bytes),
        rounds_(context.options.measure.iterations),
        limit_us_(context.options.measure.row_seconds * 1e6),
        buffer_(world.memory(), 2 * ((bytes + 255) / 256 * 256) + 256, Purpose::workspace) {
    device().zero(buffer_.data(), buffer_.bytes(), world.stream());
  }

  Meeting play(int peer) {
    Meeting out;
    exchange(peer);  // makes the connection
    out.both = timed(peer, [&] { exchange(peer); });
    const bool first = world_.rank() < peer;
    for (const bool mine : {first, !first}) {
      const double us = timed(peer, [&] { mine ? throw_to(peer) : catch_from(peer); });
      if (mine) out.to = us;
    }
    return out;
  }

 private:
  Device& device() const { return world_.stream().device(); }
  char* inbox() const { return buffer_.as<char>(); }
  char* outbox() const { return inbox() + (bytes_ + 255) / 256 * 256; }

  void exchange(int peer) {
    world_.group_begin();
    world_.send(outbox(), bytes_, DType::u8, peer);
    world_.recv(inbox(), bytes_, DType::u8, peer);
    world_.group_end();
  }
  void throw_to(int peer) {
    world_.send(outbox(), bytes_, DType::u8, peer);
    world_.recv(inbox(), 1, DType::u8, peer);
  }
  void catch_from(int peer) {
    world_.recv(inbox(), bytes_, DType::u8, peer);
    world_.send(outbox(), 1, DType::u8, peer);
  }

  template <typename Call>
  double timed_once(const Call& call) {
    Stream& stream = world_.stream();
    const auto begin = device().make_timing_event(), end = device().make_timing_event();
    stream.record(*begin);
    call();
    stream.record(*end);
    const OperationScope operation("wait for the device");
    stream.synchronize();
    return std::max(1e6 * end->seconds_since(*begin), 0.01);
  }

  /// Both sides make as many calls: so many as the slower side's first one leaves time for.
  template <typename Call>
  double timed(int peer, const Call& call) {
    const auto fitting = static_cast<std::int64_t>(limit_us_ / agree(peer, timed_once(call)));
    std::vector<double> us;
    for (std::int64_t i = std::clamp<std::int64_t>(fitting, 1, rounds_); i > 0; --i) us.push_back(timed_once(call));
    return timing_of(std::move(us), 0).median();
  }

  /// The larger of both ranks' values.
  double agree(int peer, double mine) {
    double theirs = 0;
    Stream& stream = world_.stream();
    device().copy_from_host(outbox(), &mine, sizeof mine, stream);
    world_.group_begin();
    world_.send(outbox(), sizeof mine, DType::u8, peer);
    world_.recv(inbox(), sizeof theirs, DType::u8, peer);
    world_.group_end();
    device().copy_to_host(&theirs, inbox(), sizeof theirs, stream);
    const OperationScope operation("wait for the device");
    stream.synchronize();
    return std::max(mine, theirs);
  }

  Communicator& world_;
  std::int64_t bytes_, rounds_;
  double limit_us_;
  Buffer buffer_;  ///< what comes, then what goes
};

/// By rank and peer of all ranks: the slowest member's, by team.
PairTimes by_team(const Teams& teams, const std::vector<float>& us, int ranks) {
  PairTimes times(static_cast<int>(teams.names.size()));
  for (int a = 0; a < times.nodes(); ++a) {
    for (int b = 0; b < times.nodes(); ++b) {
      if (a == b) continue;
      const auto &from = teams.ranks[static_cast<std::size_t>(a)], &to = teams.ranks[static_cast<std::size_t>(b)];
      for (std::size_t k = 0; k < from.size(); ++k) {
        const double one =
            us[static_cast<std::size_t>(from[k]) * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(to[k])];
        times.at(a, b) = std::max(times.at(a, b), one);
      }
    }
  }
  return times;
}

/// What all ranks measured, at [rank · ranks + peer].
struct Matrix {
  std::vector<float> both, to;
};

Matrix measure_pairs(const Context& context, Communicator& world, const Teams& teams) {
  const auto ranks = static_cast<std::size_t>(world.size()), me = static_cast<std::size_t>(world.rank());
  Matrix m{std::vector<float>(ranks * ranks), std::vector<float>(ranks * ranks)};
  Match match(context, world, context.options.pair_bytes);
  const auto rounds = round_robin(static_cast<int>(teams.names.size()));
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    context.progress(fmt::format("pairs: round {} of {}", r + 1, rounds.size()));
    context.hosts.barrier();
    for (const auto& [a, b] : rounds[r]) {
      const auto &left = teams.ranks[static_cast<std::size_t>(a)], &right = teams.ranks[static_cast<std::size_t>(b)];
      for (std::size_t k = 0; k < left.size(); ++k) {
        if (static_cast<int>(me) != left[k] && static_cast<int>(me) != right[k]) continue;
        const int peer = static_cast<int>(me) == left[k] ? right[k] : left[k];
        const Meeting meeting = match.play(peer);
        m.both[me * ranks + static_cast<std::size_t>(peer)] = static_cast<float>(meeting.both);
        m.to[me * ranks + static_cast<std::size_t>(peer)] = static_cast<float>(meeting.to);
      }
    }
  }
  context.progress();
  const auto all = static_cast<std::int64_t>(ranks * ranks);
  context.hosts.all_reduce(m.both.data(), all, DType::f32, ReduceOp::max);
  context.hosts.all_reduce(m.to.data(), all, DType::f32, ReduceOp::max);
  return m;
}

double gigabytes_a_second(std::int64_t bytes, double us) {
  return static_cast<double>(bytes) / us / 1e3;
}

nlohmann::ordered_json print_matrix(const Report& report, const std::string& title, const Teams& teams,
                                    const PairTimes& times, std::int64_t bytes) {
  report.comment(title);
  std::size_t wide = 8;
  for (const std::string& name : teams.names) wide = std::max(wide, name.size());
  std::string head = fmt::format("{:>{}}", "", wide);
  for (const std::string& name : teams.names) head += fmt::format(" {:>{}}", name, wide);
  report.comment(head);
  auto json = nlohmann::ordered_json::array();
  for (int a = 0; a < times.nodes(); ++a) {
    std::string line = fmt::format("{:>{}}", teams.names[static_cast<std::size_t>(a)], wide);
    auto row = nlohmann::ordered_json::array();
    for (int b = 0; b < times.nodes(); ++b) {
      line += a == b ? fmt::format(" {:>{}}", "-", wide)
                     : fmt::format(" {:>{}.3f}", gigabytes_a_second(bytes, times.at(a, b)), wide);
      row.push_back(a == b ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(times.at(a, b)));
    }
    report.comment(line);
    json.push_back(std::move(row));
  }
  return json;
}

nlohmann::ordered_json json_of(const SlowPart& part, const Teams& teams) {
  constexpr std::array kinds = {"node", "sender", "receiver", "link"};
  const auto name = [&](int i) {
    return i < 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(teams.names[static_cast<std::size_t>(i)]);
  };
  return {{"kind", kinds[static_cast<std::size_t>(part.kind)]},
          {"from", name(part.from)},
          {"to", name(part.to)},
          {"both_ways", part.both_ways},
          {"factor", part.factor},
          {"text", describe(part, teams.names)}};
}

}  // namespace

void run_pairs(const Context& context, Communicator& world) {
  const Teams teams = teams_of(context);
  check(context, teams);
  const Matrix matrix = measure_pairs(context, world, teams);
  const Report& report = context.report;
  const std::int64_t bytes = context.options.pair_bytes * static_cast<std::int64_t>(teams.ranks.front().size());
  report.comment("");
  report.comment(fmt::format("pairs of {}: {} from each of {} rank(s), GB/s", context.options.pairs,
                             format_bytes(context.options.pair_bytes), teams.ranks.front().size()));
  const PairTimes both = by_team(teams, matrix.both, world.size()), to = by_team(teams, matrix.to, world.size());
  nlohmann::ordered_json json = {{"of", context.options.pairs},
                                 {"names", teams.names},
                                 {"bytes", bytes},
                                 {"both_ways_us", print_matrix(report, "both send at once", teams, both, bytes)},
                                 {"one_way_us", print_matrix(report, "row sends to column", teams, to, bytes)}};
  const PairFindings findings = find_slow_parts(to, context.options.tolerance);
  json["typical_us"] = findings.typical_us;
  json["threshold"] = findings.threshold;
  json["slow"] = nlohmann::ordered_json::array();
  for (const SlowPart& part : findings.slow) {
    report.comment("SLOW: " + describe(part, teams.names));
    json["slow"].push_back(json_of(part, teams));
  }
  if (findings.slow.empty()) {
    report.comment(fmt::format("nothing is slow: typically {:.3f} GB/s one way, no more than {:.2f} times as long",
                               gigabytes_a_second(bytes, findings.typical_us), findings.threshold));
  }
  context.report.attach("pairs", std::move(json));
}

}  // namespace octet::commbench
