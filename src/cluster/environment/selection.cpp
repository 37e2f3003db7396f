#include "src/cluster/environment/selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "src/base/options/text.h"
#include "src/cluster/environment/value_check.h"

namespace octet {
namespace {

using Names = std::set<std::string>;

constexpr const char* functions[] = {"broadcast", "reduce", "allgather", "reducescatter", "allreduce"};

/// Parts of a text between separators as strtok has them: none is empty.
std::vector<std::string> tokens(const std::string& text, char separator) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

/// Reads one group's names into `names`; returns what is wrong.
std::string read_names(const Variable& v, std::string list, Names& names) {
  const bool excluded = list.starts_with('^');
  if (excluded) list.erase(0, 1);
  names.clear();
  if (excluded) names.insert(v.values.begin(), v.values.end());
  for (const std::string& token : tokens(list, ',')) {
    const std::string name = in_small_letters(token);
    const auto known = std::ranges::find_if(v.values, [&](const std::string& one) { return same_text(one, name); });
    if (known == v.values.end()) {
      return fmt::format("{} in place of {}: NCCL ends with an error", joined(v.values), in_quotes(token));
    }
    if (excluded) {
      names.erase(*known);
    } else {
      names.insert(*known);
    }
  }
  return "";
}

/// Algorithms that a function of a training has.
Names algorithms_of(const std::string& function, const AlgorithmLimits& limits) {
  Names out = {"ring"};
  if (function == "broadcast") return out;
  const bool reduces_to_all = function == "allreduce";
  if (limits.nvls && (limits.one_node || limits.sharp)) out.insert("nvls");
  if (limits.sharp) out.insert("collnetdirect");
  if (!reduces_to_all) {
    if (limits.one_rank_a_node) out.insert("pat");
    return out;
  }
  out.insert("tree");
  if (limits.nvls && !limits.one_node) out.insert("nvlstree");
  if (limits.sharp) out.insert("collnetchain");
  return out;
}

}  // namespace

Selection parse_selection(const Variable& v, const std::string& value) {
  Selection out;
  for (const char* function : functions) out.allowed[function] = {v.values.begin(), v.values.end()};
  bool first = true;
  for (const std::string& group : tokens(value, ';')) {
    const std::vector<std::string> parts = tokens(group, ':');
    const bool for_all = parts.size() < 2;
    if (for_all && !first) return {"FUNCTION:NAMES behind the first ;", {}};
    const std::string function = for_all ? "" : in_small_letters(parts[0]);
    if (!for_all && !out.allowed.contains(function)) {
      return {
          fmt::format("{} in place of {}: NCCL ends with an error", fmt::join(functions, ", "), in_quotes(parts[0])),
          {}};
    }
    Names names;
    const std::string problem = parts.empty() ? "" : read_names(v, for_all ? parts[0] : parts[1], names);
    if (!problem.empty()) return {problem, {}};
    for (auto& [of, allowed] : out.allowed) {
      if (!for_all && of != function) continue;
      allowed = names;
      out.named.insert(of);
    }
    first = false;
  }
  return out;
}

bool forces(const Variable& v, const std::string& value, const std::string& name) {
  const Selection selection = parse_selection(v, value);
  return std::ranges::any_of(
      selection.named, [&](const std::string& function) { return selection.allowed.at(function).contains(name); });
}

std::string without_algorithm(const Selection& selection, const AlgorithmLimits& limits) {
  std::vector<std::pair<std::string, std::string>> found;  // collectives, and the algorithms that they have
  for (const auto& [function, name] :
       {std::pair("broadcast", "broadcast"), std::pair("allgather", "all_gather"),
        std::pair("reducescatter", "reduce_scatter"), std::pair("allreduce", "all_reduce")}) {
    const Names has = algorithms_of(function, limits);
    const Names& allowed = selection.allowed.at(function);
    if (std::ranges::any_of(has, [&](const std::string& one) { return allowed.contains(one); })) continue;
    const std::string choice = fmt::format("{}", fmt::join(has, ", "));
    if (!found.empty() && found.back().second == choice) {
      found.back().first += fmt::format(", {}", name);
    } else {
      found.emplace_back(name, choice);
    }
  }
  std::vector<std::string> out;
  out.reserve(found.size());
  for (const auto& [names, choice] : found) out.push_back(fmt::format("{} ({})", names, choice));
  return joined(out, "; ");
}

}  // namespace octet
