#include "src/cluster/cores/core_plan.h"

#include <algorithm>
#include <map>
#include <utility>

namespace octet {
namespace {

/// Places in the list of cores, ascending.
using Cores = std::vector<std::size_t>;
using Ranks = std::vector<std::size_t>;

Cores cores_with(const std::vector<CpuList>& cores, const CpuList& cpus) {
  Cores out;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    if (!common(cores[i], cpus).empty()) out.push_back(i);
  }
  return out;
}

bool overlap(const Cores& a, const Cores& b) {
  return std::ranges::find_first_of(a, b) != a.end();
}

/// The cores that each rank may be given, and whether these are those near its GPU.
struct Wishes {
  std::vector<Cores> of_rank;
  std::vector<bool> near;
};

Wishes wishes_of(const std::vector<CpuList>& cores, const std::vector<RankPlace>& ranks) {
  Wishes out;
  std::map<Cores, std::size_t> wanted;
  for (const RankPlace& r : ranks) {
    out.of_rank.push_back(cores_with(cores, r.near.empty() ? r.allowed : common(r.allowed, r.near)));
    out.near.push_back(true);
    ++wanted[out.of_rank.back()];
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (ranks[r].near.empty() || out.of_rank[r].size() >= wanted[out.of_rank[r]]) continue;
    out.of_rank[r] = cores_with(cores, ranks[r].allowed);
    out.near[r] = false;
  }
  return out;
}

/// Ranks whose wishes overlap, directly or through others.
std::vector<Ranks> competitors(const std::vector<Cores>& wishes) {
  std::vector<Ranks> groups;
  for (std::size_t r = 0; r < wishes.size(); ++r) {
    Ranks mine = {r};
    std::erase_if(groups, [&](const Ranks& group) {
      const bool joined =
          std::ranges::any_of(group, [&](std::size_t other) { return overlap(wishes[r], wishes[other]); });
      if (joined) mine.insert(mine.end(), group.begin(), group.end());
      return joined;
    });
    std::ranges::sort(mine);
    groups.push_back(std::move(mine));
  }
  return groups;
}

/// All want the same cores, of which there are at least as many as ranks.
void divide(const Cores& cores, const Ranks& ranks, std::vector<Cores>& given) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto at = [&](std::size_t rank) {
      return cores.begin() + static_cast<std::ptrdiff_t>(rank * cores.size() / ranks.size());
    };
    given[ranks[i]].assign(at(i), at(i + 1));
  }
}

/// Gives each core to the rank that wants it and has the fewest so far; cores that few ranks want come first.
void deal(const std::vector<Cores>& wishes, const Ranks& ranks, std::vector<Cores>& given) {
  std::map<std::size_t, Ranks> wanting;
  for (const std::size_t r : ranks) {
    for (const std::size_t core : wishes[r]) wanting[core].push_back(r);
  }
  std::vector<std::pair<std::size_t, Ranks>> order(wanting.begin(), wanting.end());
  std::ranges::stable_sort(order, {}, [](const auto& core) { return core.second.size(); });
  for (const auto& [core, by] : order) {
    given[*std::ranges::min_element(by, {}, [&](std::size_t r) { return given[r].size(); })].push_back(core);
  }
}

}  // namespace

std::vector<RankCores> plan_cores(const std::vector<CpuList>& cores, const std::vector<RankPlace>& ranks) {
  const Wishes wishes = wishes_of(cores, ranks);
  std::vector<Cores> given(ranks.size());
  for (const Ranks& group : competitors(wishes.of_rank)) {
    const Cores& first = wishes.of_rank[group.front()];
    const bool alike = std::ranges::all_of(group, [&](std::size_t r) { return wishes.of_rank[r] == first; });
    if (!alike) {
      deal(wishes.of_rank, group, given);
    } else if (first.size() >= group.size()) {
      divide(first, group, given);
    }
    // Where there are too few cores for each rank to have one, every rank of the group gets all that it may be given.
    const bool enough = std::ranges::none_of(group, [&](std::size_t r) { return given[r].empty(); });
    for (const std::size_t r : group) {
      if (!enough) given[r] = wishes.of_rank[r];
    }
  }
  std::vector<RankCores> out(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    CpuList all;
    for (const std::size_t core : given[r]) all.insert(all.end(), cores[core].begin(), cores[core].end());
    std::ranges::sort(all);
    out[r] = {
        .cpus = common(all, ranks[r].allowed), .cores = static_cast<int>(given[r].size()), .is_near = wishes.near[r]};
  }
  for (RankCores& r : out) {
    r.sharing = static_cast<int>(std::ranges::count(out, r.cpus, &RankCores::cpus));
  }
  return out;
}

}  // namespace octet
