#include "src/model/exchange_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace octet {
namespace {

/// Linears that share an input, in the order of forward; backward visits them in reverse.
const std::vector<std::vector<BlockLinear>> groups = {{wq, wk, wv}, {wo}, {w1, w3}, {w2}};

const LinearRecipe& recipe(const BlockRecipes& recipes, BlockLinear l) {
  return recipes[static_cast<std::size_t>(l)];
}

/// Rowwise linears cast what they read, after it has travelled.
DType travels(const LinearRecipe& r, DType format, DType storage) {
  return r.rowwise() ? storage : format;
}

void add_inputs(std::vector<OperandExchange>& all, const std::vector<BlockLinear>& group, const BlockRecipes& recipes,
                DType storage) {
  bool travelled = false;  // in the storage dtype
  for (const bool float8 : {false, true}) {
    OperandExchange x{.format = float8 ? LinearRecipe::input_format : storage,
                      .travels = storage,
                      .delayed = float8 && recipe(recipes, group.front()).delayed,
                      .gathered = !is_row_parallel(group.front())};
    for (const BlockLinear l : group) {
      const LinearRecipe& r = recipe(recipes, l);
      if (r.float8 != float8) continue;
      x.linears.push_back(l);
      x.travels = travels(r, x.format, storage);
    }
    if (x.linears.empty()) continue;
    x.shared = x.gathered && x.travels == storage && std::exchange(travelled, true);
    all.push_back(x);
  }
}

void add_gradients(std::vector<OperandExchange>& all, const std::vector<BlockLinear>& group,
                   const BlockRecipes& recipes, DType storage) {
  for (const BlockLinear l : group) {
    const LinearRecipe& r = recipe(recipes, l);
    const DType format = r.float8 ? r.grad_output_format() : storage;
    all.push_back({.linears = {l},
                   .gradient = true,
                   .format = format,
                   .travels = travels(r, format, storage),
                   .delayed = r.float8 && r.delayed,
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

std::string amax(const OperandExchange& x) {
  if (!x.float8()) return "-";
  if (x.delayed) return "once a step";
  return x.reduced() ? "MAX over tp" : "own vectors";
}

std::string cast(const OperandExchange& x) {
  if (!x.float8()) return "-";
  if (!x.gathered) return fmt::format("{} locally", name_of(x.format));
  return fmt::format("{} {} gather", name_of(x.format), x.cast_first() ? "before" : "after");
}

std::string travel(const OperandExchange& x) {
  if (!x.gathered) return "-";
  return x.shared ? "with the above" : fmt::format("{} gathered", name_of(x.travels));
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
    table += row(short_names(x, recipes), x.gradient ? "dY" : "X", amax(x), cast(x), travel(x), kept(x, keep_gathered),
                 scattered ? fmt::format("partial {}, scattered in {}", x.gradient ? "dX" : "Y", name_of(storage))
                           : std::string("-"));
  }
  return table;
}

}  // namespace octet
