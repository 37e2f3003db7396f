#include "src/train/health/replica_check.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <set>

#include "src/base/error.h"
#include "src/comm/control_exchange.h"
#include "src/comm/operation.h"

namespace octet {
namespace {

constexpr std::int64_t piece_elements = 1 << 20;  // on the host at a time
constexpr std::size_t most_named = 16;            // ranks in a message

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

/// Of every rank; each has as many.
std::vector<std::vector<std::uint64_t>> gather_values(const std::vector<std::uint64_t>& mine, Communicator& control) {
  std::string bytes(mine.size() * sizeof(std::uint64_t), '\0');
  std::memcpy(bytes.data(), mine.data(), bytes.size());
  std::vector<std::vector<std::uint64_t>> all;
  for (const std::string& theirs : gather_bytes(bytes, control)) {
    all.emplace_back(theirs.size() / sizeof(std::uint64_t));
    std::memcpy(all.back().data(), theirs.data(), theirs.size());
  }
  return all;
}

std::vector<ReplicaReport> gather_reports(const ShardHashes& mine, const std::string& node, Communicator& control) {
  const std::vector<ShardHashes> all = gather_values(mine, control);
  const std::vector<std::string> nodes = gather_bytes(node, control);
  std::vector<ReplicaReport> reports;
  for (std::size_t r = 0; r < nodes.size(); ++r) reports.push_back({nodes[r], all[r]});
  return reports;
}

/// Parameters whose pieces the same ranks have in common.
struct Sharing {
  std::vector<std::size_t> parameters;   ///< their ids, in the model's order
  std::vector<std::vector<int>> groups;  ///< the ranks with the same piece of each: a list for every piece
};

/// A model's head has a weight of its own, or uses the embedding's.
bool is_tied(const ParameterList& model) {
  const auto [first, last] = model.range(static_cast<int>(model.units.size()) - 1);
  return last - first == 1;
}

/// Which ranks have the same pieces. A piece of a parameter that tensor parallelism cuts is in every replica once; a
/// piece of any other parameter is with each of the replica's tp ranks; and a tied embedding is in the first and in the
/// last stage of a pipeline.
std::array<Sharing, 3> sharings_of(const MeshShape& shape, const ParameterList& model, int ranks) {
  std::array<Sharing, 3> sharings;
  const bool tied = shape.pp > 1 && is_tied(model);
  for (const ParameterSpec& p : model.parameters) {
    sharings[tied && p.unit == 0 ? 2 : p.cut.replicated() ? 1 : 0].parameters.push_back(p.id);
  }
  for (std::size_t s = 0; s < sharings.size(); ++s) {
    std::map<std::vector<int>, std::vector<int>> by_piece;
    for (int rank = 0; rank < ranks; ++rank) {
      const MeshCoordinates c = coordinates(shape, rank);
      if (s == 2 && c.pp != 0 && c.pp != shape.pp - 1) continue;
      by_piece[{s == 2 ? 0 : c.pp, c.dp_shard, c.cp, s == 1 ? 0 : c.tp}].push_back(rank);
    }
    for (auto& [piece, members] : by_piece) sharings[s].groups.push_back(std::move(members));
  }
  return sharings;
}

/// One value for these parameters' pieces of a rank.
std::uint64_t digest_of(const ShardHashes& hashes, const Sharing& sharing) {
  ShardHashes chosen;
  chosen.reserve(sharing.parameters.size());
  for (const std::size_t i : sharing.parameters) chosen.push_back(hashes[i]);
  return XXH3_64bits(chosen.data(), chosen.size() * sizeof chosen[0]);
}

/// The value that more than half of them have.
std::optional<std::uint64_t> majority(const std::vector<std::uint64_t>& values) {
  for (const std::uint64_t v : values) {
    if (2 * std::ranges::count(values, v) > static_cast<std::ptrdiff_t>(values.size())) return v;
  }
  return std::nullopt;
}

/// "rank 1 on a, rank 3 on b and 5 more".
std::string named(const std::set<int>& ranks, const std::vector<ReplicaReport>& reports) {
  std::string text;
  std::size_t n = 0;
  for (const int rank : ranks) {
    if (n++ == most_named) return text + fmt::format(" and {} more", ranks.size() - most_named);
    text +=
        fmt::format("{}rank {} on {}", text.empty() ? "" : ", ", rank, reports[static_cast<std::size_t>(rank)].node);
  }
  return text;
}

}  // namespace

ShardHashes hash_shards(const ParameterList& held, const ShardedBuffer& master, Device& device, Stream& stream) {
  const std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
  if (!state) throw internal_error("train", "no memory for a hash");
  std::vector<float> host(static_cast<std::size_t>(std::min(piece_elements, master.layout().elements())));
  ShardHashes hashes(held.ids, 0);
  for (std::size_t i = 0; i < master.layout().size(); ++i) {
    const std::int64_t elements = master.layout().shard(i).elements();
    XXH3_64bits_reset(state.get());
    for (std::int64_t begin = 0; begin < elements; begin += piece_elements) {
      const std::int64_t bytes = std::min(piece_elements, elements - begin) * 4;
      device.copy_to_host(host.data(), master.data(i) + begin, bytes, stream);
      const OperationScope operation("wait for the device");
      stream.synchronize();
      XXH3_64bits_update(state.get(), host.data(), static_cast<std::size_t>(bytes));
    }
    hashes[held.parameters[i].id] = XXH3_64bits_digest(state.get());
  }
  return hashes;
}

std::optional<std::string> describe_difference(const MeshShape& shape, const ParameterList& model,
                                               const std::vector<ReplicaReport>& ranks) {
  std::set<int> minority, undecided;
  std::size_t first = model.ids;
  const auto judge = [&](const Sharing& sharing, const std::vector<int>& group) {
    const auto hashes = [&](int rank) -> const ShardHashes& { return ranks[static_cast<std::size_t>(rank)].hashes; };
    std::vector<std::uint64_t> digests;
    std::ranges::transform(group, std::back_inserter(digests),
                           [&](int rank) { return digest_of(hashes(rank), sharing); });
    const auto most = majority(digests);
    for (std::size_t m = 0; m < group.size(); ++m) {
      if (!most) undecided.insert(group[m]);
      if (most && digests[m] != *most) minority.insert(group[m]);
      const auto differs = [&](std::size_t i) { return hashes(group[m])[i] != hashes(group[0])[i]; };
      const auto at = std::ranges::find_if(sharing.parameters, differs);
      if (at != sharing.parameters.end()) first = std::min(first, *at);
    }
  };
  for (const Sharing& sharing : sharings_of(shape, model, static_cast<int>(ranks.size()))) {
    for (const std::vector<int>& group : sharing.groups) judge(sharing, group);
  }
  if (minority.empty() && undecided.empty()) return std::nullopt;
  std::string who;
  if (!minority.empty()) who = fmt::format("{} against the majority", named(minority, ranks));
  if (!undecided.empty()) {
    who += fmt::format("{}{} against each other, with no majority", who.empty() ? "" : "; ", named(undecided, ranks));
  }
  return fmt::format("{}; the first parameter that differs is {}", who, model.parameters[first].name);
}

std::optional<std::string> find_replica_difference(const ParameterList& model, const ParameterList& held,
                                                   const ShardedBuffer& master, const MeshShape& shape,
                                                   Communicator& control, Stream& stream, const std::string& node) {
  if (shape.dp_replicate == 1 && shape.tp == 1 && (shape.pp == 1 || !is_tied(model))) return std::nullopt;
  const ShardHashes mine = hash_shards(held, master, stream.device(), stream);
  const auto sharings = sharings_of(shape, model, control.size());
  const auto digests = gather_values(
      {digest_of(mine, sharings[0]), digest_of(mine, sharings[1]), digest_of(mine, sharings[2])}, control);
  // Judged by every rank on the same numbers, so that all go on or all stop.
  const auto equal = [&](std::size_t s) {
    const auto digest = [&](int rank) { return digests[static_cast<std::size_t>(rank)][s]; };
    return std::ranges::all_of(sharings[s].groups, [&](const std::vector<int>& group) {
      return std::ranges::all_of(group, [&](int rank) { return digest(rank) == digest(group[0]); });
    });
  };
  if (equal(0) && equal(1) && equal(2)) return std::nullopt;
  return describe_difference(shape, model, gather_reports(mine, node, control));
}

}  // namespace octet
