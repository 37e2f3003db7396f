// Every fp8 GEMM that a layout produces has extents that an fp8 GEMM can have: cuBLASLt would refuse others when it
// launches, in the middle of a step and of a queue.
#include <algorithm>
#include <array>
#include <optional>

#include "src/base/options/text.h"
#include "src/model/float8_gemms.h"
#include "src/run_config/checks/checks.h"

namespace octet {
namespace {

bool fits(const Float8Gemm& g, const Float8Gemm::Extent& extent) {
  return extent.value % g.multiple == 0;
}

std::vector<Float8Gemm> gemms_of(const RunConfig& c, const BlockRecipes& recipes, std::int64_t tp) {
  return float8_gemms(c.model.part(static_cast<int>(tp)), recipes, c.train.micro_batch * c.train.seq_len,
                      c.parallel.async_tp ? tp : 1);
}

/// The next sequence length whose micro-batch has a multiple of so many tokens.
std::int64_t next_seq_len(const RunConfig& c, std::int64_t multiple) {
  std::int64_t seq_len = c.train.seq_len;
  while (c.train.micro_batch * seq_len % multiple != 0) ++seq_len;
  return seq_len;
}

bool is_of_weight(const Float8Gemm::Extent& e) {
  return e.of == GemmExtent::inputs || e.of == GemmExtent::outputs;
}

bool weight_fits(const Float8Gemm& g) {
  return std::ranges::all_of(g.extents(), [&](const Float8Gemm::Extent& e) { return !is_of_weight(e) || fits(g, e); });
}

/// What float8.bf16_linears would have to say: what it says, and the linears whose weights do not fit, each once. None
/// where no linear would be left in fp8.
std::vector<std::string> without_misfits(const RunConfig& c, const BlockRecipes& recipes) {
  std::vector<std::string> names = c.float8.bf16_linears;
  bool any_fits = false;
  for (const Float8Gemm& g : gemms_of(c, recipes, c.parallel.tp)) {
    if (g.gemm != "output") continue;  // the others have its weight too
    if (weight_fits(g)) {
      any_fits = true;
    } else {
      names.emplace_back(recipes[static_cast<std::size_t>(g.linear)].name);
    }
  }
  return any_fits ? names : std::vector<std::string>();
}

/// Whether the weights fit recipes that need multiples of 16, where this one needs multiples of more.
bool fits_other_recipe(const RunConfig& c, const BlockRecipes& recipes) {
  constexpr std::int64_t least = 16;
  return std::ranges::all_of(gemms_of(c, recipes, c.parallel.tp), [](Float8Gemm g) {
    const bool is_more = g.multiple > least;
    g.multiple = least;
    return is_more && weight_fits(g);
  });
}

/// The largest smaller degree at which every weight's rows and columns fit a rank.
std::optional<std::int64_t> smaller_tp(const RunConfig& c, const BlockRecipes& recipes) {
  for (std::int64_t tp = c.parallel.tp - 1; tp >= 1; --tp) {
    const ModelConfig& m = c.model;
    if (m.heads % tp != 0 || m.kv_heads % tp != 0 || m.ffn_dim % tp != 0 || m.vocab_size % tp != 0) continue;
    if (std::ranges::all_of(gemms_of(c, recipes, tp), weight_fits)) return tp;
  }
  return std::nullopt;
}

/// What would do for weights that do not fit.
std::string remedy_of_weights(const RunConfig& c, const BlockRecipes& recipes) {
  std::vector<std::string> ways;
  const std::vector<std::string> names = without_misfits(c, recipes);
  if (!names.empty()) ways.push_back(fmt::format("float8.bf16_linears [{}]", joined(names)));
  if (const auto tp = smaller_tp(c, recipes)) ways.push_back(fmt::format("parallel.tp {}", *tp));
  if (names.empty() && fits_other_recipe(c, recipes)) ways.push_back("a recipe that needs multiples of 16");
  if (names.empty()) ways.push_back("precision bf16");
  if (ways.size() == 1) ways.push_back("a model of another shape");
  std::string text = ways.front() + " would do";
  for (std::size_t i = 1; i < ways.size(); ++i) text += ", or " + ways[i];
  return text;
}

/// What an extent is made of, and what would do in its place.
struct Explanation {
  const char* key;
  std::string value;
  std::string made_of, remedy;
};

Explanation explain(const RunConfig& c, const BlockRecipes& recipes, const Float8Gemm::Extent& extent,
                    std::int64_t multiple) {
  const std::int64_t tp = c.parallel.tp;
  const std::string tokens =
      fmt::format("train.micro_batch {} x train.seq_len {}", c.train.micro_batch, c.train.seq_len);
  const std::string a_rank = tp == 1 ? "" : fmt::format(" a rank with parallel.tp {}", tp);
  switch (extent.of) {
    case GemmExtent::tokens:
      return {"precision", "float8", fmt::format("tokens, {}", tokens),
              fmt::format("train.seq_len {} would do", next_seq_len(c, multiple))};
    case GemmExtent::part_of_tokens:
      return {"parallel.async_tp", "true", fmt::format("tokens of a part, {} / parallel.tp {}", tokens, tp),
              fmt::format("train.seq_len {} would do, or parallel.async_tp false", next_seq_len(c, multiple * tp))};
    default:
      break;
  }
  return {"precision", "float8",
          fmt::format("{} of model {}{}", extent.of == GemmExtent::inputs ? "inputs" : "outputs", c.model.name, a_rank),
          remedy_of_weights(c, recipes)};
}

/// The first extent that is no multiple, of a weight or of tokens.
void check_extents(const RunConfig& c, const BlockRecipes& recipes, const Origins& at, bool of_weights) {
  for (const Float8Gemm& g : gemms_of(c, recipes, c.parallel.tp)) {
    constexpr std::array names = {"m", "n", "k"};
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Float8Gemm::Extent extent = g.extents()[i];
      if (is_of_weight(extent) != of_weights || fits(g, extent)) continue;
      const std::string_view linear = recipes[static_cast<std::size_t>(g.linear)].name;
      const Explanation e = explain(c, recipes, extent, g.multiple);
      throw refuse(at, e.key, e.value,
                   "linear {}, GEMM {} of m {} n {} k {}: {} = {} ({}), and fp8 needs multiples of {}; {}", linear,
                   g.gemm, g.m.value, g.n.value, g.k.value, names[i], extent.value, e.made_of, g.multiple, e.remedy);
    }
  }
}

}  // namespace

void check_float8_gemms(const RunConfig& c, const BlockRecipes& recipes, const Origins& at) {
  check_extents(c, recipes, at, true);  // first: other tokens are of no use where the weights do not fit
  check_extents(c, recipes, at, false);
}

}  // namespace octet
