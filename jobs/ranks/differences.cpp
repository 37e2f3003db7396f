#include "jobs/ranks/differences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace octet {
namespace {

/// What travels between ranks.
struct Record {
  std::uint64_t hash;
  char node[256];
  char text[1024];
};

std::vector<Record> gather(Communicator& control, const std::string& node, std::uint64_t hash,
                           const std::string& text) {
  Record own{};
  own.hash = hash;
  node.copy(own.node, sizeof own.node - 1);
  text.copy(own.text, sizeof own.text - 1);
  std::vector<Record> all(static_cast<std::size_t>(control.size()));
  control.all_gather(&own, all.data(), sizeof own, DType::u8);
  return all;
}

/// "0-2, 5"
std::string ranges(const std::vector<int>& ranks) {
  std::vector<std::string> parts;
  for (std::size_t first = 0, i = 0; i < ranks.size(); ++i) {
    if (i + 1 < ranks.size() && ranks[i + 1] == ranks[i] + 1) continue;
    parts.push_back(first == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[first], ranks[i]));
    first = i + 1;
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// "node(s) a, b, 2 rank(s) (0-1): tuning file ..."
std::string describe(const std::vector<Record>& all, std::uint64_t hash) {
  constexpr std::size_t most_names = 8;
  std::vector<std::string> nodes;
  std::vector<int> ranks;
  std::string text;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const Record& record = all[rank];
    if (record.hash != hash) continue;
    ranks.push_back(static_cast<int>(rank));
    text = record.text;
    if (std::find(nodes.begin(), nodes.end(), record.node) == nodes.end()) nodes.emplace_back(record.node);
  }
  const std::size_t more = nodes.size() > most_names ? nodes.size() - most_names : 0;
  nodes.resize(nodes.size() - more);
  return fmt::format("node(s) {}{}, {} rank(s) ({}): {}", fmt::join(nodes, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "", ranks.size(), ranges(ranks), text);
}

}  // namespace

std::string differences(Communicator& control, const std::string& node, std::uint64_t hash, const std::string& text) {
  const std::vector<Record> all = gather(control, node, hash, text);
  std::vector<std::uint64_t> hashes;
  for (const Record& record : all) {
    if (std::find(hashes.begin(), hashes.end(), record.hash) == hashes.end()) hashes.push_back(record.hash);
  }
  if (hashes.size() < 2) return "";
  std::vector<std::string> groups;
  groups.reserve(hashes.size());
  for (const std::uint64_t one : hashes) groups.push_back(describe(all, one));
  return fmt::format("{}", fmt::join(groups, "; "));
}

}  // namespace octet
