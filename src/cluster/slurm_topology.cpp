#include "src/cluster/slurm_topology.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <unordered_map>

#include "src/base/error.h"
#include "src/base/options/text.h"
#include "src/cluster/host_list.h"

namespace octet {
namespace {

using Fields = std::map<std::string, std::string>;

/// "SwitchName=s0 Level=0 Nodes=n[1-2]" by name. Slurm writes (null) for what is empty.
Fields fields_of(const std::string& line) {
  Fields out;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    const std::string value = word.substr(equals + 1);
    out[word.substr(0, equals)] = value == "(null)" ? "" : value;
  }
  return out;
}

std::vector<std::string> list_of(const Fields& fields, const std::string& key) {
  const auto found = fields.find(key);
  return found == fields.end() ? std::vector<std::string>{} : expand_hosts(found->second);
}

struct Switch {
  std::string name;
  std::vector<std::string> below, hosts;
};

/// Walks the tree from its tops, so that leaves below one switch follow each other.
class Tree {
 public:
  explicit Tree(std::vector<Switch> switches) : switches_(std::move(switches)) {}

  std::vector<SlurmTopology::Leaf> leaves() {
    std::set<std::string> children;
    for (const Switch& s : switches_) children.insert(s.below.begin(), s.below.end());
    for (const Switch& s : switches_) {
      if (!children.contains(s.name)) visit(s);
    }
    for (const Switch& s : switches_) visit(s);  // in a ring no switch is a top
    return std::move(leaves_);
  }

 private:
  void visit(const Switch& s) {
    if (!seen_.insert(s.name).second) return;
    if (s.below.empty() && !s.hosts.empty()) leaves_.push_back({s.name, s.hosts});
    for (const std::string& name : s.below) {
      const auto child = std::ranges::find(switches_, name, &Switch::name);
      if (child != switches_.end()) visit(*child);
    }
  }

  std::vector<Switch> switches_;
  std::vector<SlurmTopology::Leaf> leaves_;
  std::set<std::string> seen_;
};

struct Block {
  std::int64_t index = 0;
  SlurmTopology::Leaf leaf;
};

Block block_of(const Fields& fields, const std::string& line) {
  Block out{.leaf = {fields.at("BlockName"), list_of(fields, "Nodes")}};
  const auto index = fields.find("BlockIndex");
  if (index != fields.end() && !parse(index->second, out.index)) {
    throw usage_error("cluster", "scontrol show topology: found {}, expected BlockIndex to be a number",
                      in_quotes(line));
  }
  return out;
}

}  // namespace

SlurmTopology parse_topology(std::string_view text) {
  std::vector<Switch> switches;
  std::vector<Block> blocks;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const Fields fields = fields_of(line);
    if (const auto name = fields.find("SwitchName"); name != fields.end()) {
      switches.push_back({name->second, list_of(fields, "Switches"), list_of(fields, "Nodes")});
    } else if (fields.contains("BlockName")) {
      blocks.push_back(block_of(fields, line));
    }
  }
  if (!switches.empty()) return {Tree(std::move(switches)).leaves()};
  SlurmTopology out;
  std::ranges::stable_sort(blocks, {}, &Block::index);
  for (Block& b : blocks) {
    if (!b.leaf.hosts.empty()) out.leaves.push_back(std::move(b.leaf));
  }
  return out;
}

namespace {

/// Host to the number of its leaf; the first that names it counts.
class LeafNumbers {
 public:
  explicit LeafNumbers(const SlurmTopology& topology) : none_(topology.leaves.size()) {
    for (std::size_t i = 0; i < topology.leaves.size(); ++i) {
      for (const std::string& host : topology.leaves[i].hosts) numbers_.emplace(host, i);
    }
  }
  std::size_t operator()(const std::string& host) const {
    const auto found = numbers_.find(host);
    return found == numbers_.end() ? none_ : found->second;
  }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  std::size_t none_;
};

}  // namespace

std::vector<std::string> order_by_leaf(const std::vector<std::string>& hosts, const SlurmTopology& topology) {
  const LeafNumbers leaf(topology);
  std::vector<std::string> out = hosts;
  std::ranges::stable_sort(out, {}, leaf);
  return out;
}

std::size_t leaf_crossings(const std::vector<std::string>& hosts, const SlurmTopology& topology) {
  const LeafNumbers leaf(topology);
  std::size_t crossings = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    crossings += leaf(hosts[i]) != leaf(hosts[(i + 1) % hosts.size()]) ? 1 : 0;
  }
  return crossings;
}

}  // namespace octet
