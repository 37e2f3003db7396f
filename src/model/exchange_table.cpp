#include "src/model/exchange_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace octet {
namespace {

/// Linears that share an input, in the order of forward; backward visits them in reverse.
const std::vector<std::vector<BlockLinear>> groups = {{wq, wk, wv}, {wo}, {w1, w3}, {w2}};

const LinearRecipe& recipe(const BlockRecipes& recipes, BlockLinear l) {
  return recipes[static_cast<std::size_t>(l)];
}

void add_inputs(std::vector<OperandExchange>& all, const std::vector<BlockLinear>& group, const BlockRecipes& recipes,
                DType storage) {
  for (const bool float8 : {false, true}) {
    OperandExchange x{.format = float8 ? LinearRecipe::input_format : storage,
                      .delayed = float8 && recipe(recipes, group.front()).delayed,
                      .gathered = !is_row_parallel(group.front())};
    for (const BlockLinear l : group) {
      if (recipe(recipes, l).float8 == float8) x.linears.push_back(l);
    }
    if (!x.linears.empty()) all.push_back(x);
  }
}

void add_gradients(std::vector<OperandExchange>& all, const std::vector<BlockLinear>& group,
                   const BlockRecipes& recipes, DType storage) {
  for (const BlockLinear l : group) {
    all.push_back({.linears = {l},
                   .gradient = true,
                   .format = recipe(recipes, l).float8 ? LinearRecipe::grad_output_format : storage,
                   .delayed = recipe(recipes, l).float8 && recipe(recipes, l).delayed,
                   .gathered = is_row_parallel(l)});
  }
}

std::string short_names(const OperandExchange& x, const BlockRecipes& recipes) {
  std::vector<std::string_view> names;
  for (const BlockLinear l : x.linears) {
    const std::string_view name = recipe(recipes, l).name;
    names.push_back(name.substr(name.find('.') + 1));
  }
  return fmt::format("{}", fmt::join(names, " "));
}

std::string kept(const OperandExchange& x, bool keep_gathered) {
  if (x.gradient) return "nothing";
  if (!x.gathered) return "as it is";
  return keep_gathered ? "gathered" : "own rows, gathered again";
}

}  // namespace

std::vector<OperandExchange> block_exchanges(const BlockRecipes& recipes, DType storage) {
  std::vector<OperandExchange> all;
  for (const auto& group : groups) add_inputs(all, group, recipes, storage);
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) add_gradients(all, *group, recipes, storage);
  return all;
}

std::string exchange_table(const BlockRecipes& recipes, DType storage, bool keep_gathered) {
  const auto row = [](auto linear, auto operand, auto amax, auto cast, auto travels, auto kept, auto result) {
    return fmt::format("  {:<10} {:<8} {:<12} {:<18} {:<16} {:<25} {}\n", linear, operand, amax, cast, travels, kept,
                       result);
  };
  std::string table = row("linear", "operand", "abs-max", "cast", "travels", "kept for backward", "result");
  for (const OperandExchange& x : block_exchanges(recipes, storage)) {
    const bool scattered = !x.gathered;  // Y of row-parallel, dX of column-parallel linears
    table += row(short_names(x, recipes), x.gradient ? "dY" : "X",
                 !x.float8() ? "-"
                 : x.delayed ? "once a step"
                             : "MAX over tp",
                 !x.float8() ? std::string("-")
                             : fmt::format("{} {}", name_of(x.format), x.gathered ? "before gather" : "locally"),
                 x.gathered ? fmt::format("{} gathered", name_of(x.format)) : std::string("-"), kept(x, keep_gathered),
                 scattered ? fmt::format("partial {}, scattered in {}", x.gradient ? "dX" : "Y", name_of(storage))
                           : std::string("-"));
  }
  return table;
}

}  // namespace octet
