// What really travels under tensor parallelism, from the trace, against the table that a run prints.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "src/model/exchange_table.h"
#include "tests/equivalence/harness.h"

namespace octet {
namespace {

struct ExchangeCase {
  const char* name;
  Precision precision;
  bool keep_gathered;
  std::vector<std::string> bf16_linears;
  std::string recipe = "tensorwise";
};

void PrintTo(const ExchangeCase& c, std::ostream* out) {
  *out << c.name;
}

class ExchangeTrace : public testing::TestWithParam<ExchangeCase> {
 protected:
  static constexpr std::int64_t seq_len = 32;
  static constexpr int tp = 2;

  static ModelConfig model() {
    ModelConfig m{
        .name = "traced", .dim = 64, .layers = 2, .heads = 4, .kv_heads = 2, .ffn_dim = 128, .vocab_size = 64};
    m.finish();
    return m;
  }

  using Call = std::tuple<std::string, DType, std::int64_t>;  ///< operation, dtype, count
  using Calls = std::map<Call, int>;

  /// The calls in group tp of one unit, for one micro-batch forward and backward.
  static Calls traced(const Harness& h, const std::string& unit) {
    Calls calls;
    for (const CommRecord& r : h.communication.records()) {
      if (r.group == "tp" && r.unit == unit) ++calls[{r.operation, r.dtype, r.count}];
    }
    return calls;
  }

  static Calls expected(const std::vector<OperandExchange>& block) {
    Calls calls;
    const std::int64_t rows = seq_len / tp * model().dim;
    std::set<std::string> summed;  // dX of linears that share an input is one sum
    for (const OperandExchange& x : block) {
      if (x.reduced) ++calls[{"all_reduce_max", DType::f32, 1}];
      if (x.travels && !x.shared) calls[{"all_gather", *x.travels, rows}] += x.gathered_again ? 2 : 1;
      if (!x.scattered) continue;
      const std::string part = x.linears.front().substr(0, x.linears.front().find('.'));
      if (x.gradient && !summed.insert(part).second) continue;
      ++calls[{*x.scattered == DType::f32 ? "reduce_scatter" : "all_to_all", *x.scattered, rows}];
    }
    return calls;
  }
};

INSTANTIATE_TEST_SUITE_P(
    Cases, ExchangeTrace,
    testing::Values(ExchangeCase{"fp32", Precision::fp32, false, {}}, ExchangeCase{"bf16", Precision::bf16, false, {}},
                    ExchangeCase{"float8", Precision::float8, false, {}},
                    ExchangeCase{"float8_kept", Precision::float8, true, {}},
                    ExchangeCase{"float8_mixed", Precision::float8, false, {"wk", "w2"}},
                    ExchangeCase{"delayed", Precision::float8, false, {}, "delayed"},
                    ExchangeCase{"delayed_mixed", Precision::float8, true, {"wk", "w2"}, "delayed"},
                    ExchangeCase{"rowwise", Precision::float8, false, {}, "rowwise"},
                    ExchangeCase{"rowwise_kept", Precision::float8, true, {}, "rowwise"},
                    ExchangeCase{"rowwise_mixed", Precision::float8, false, {"wk", "w2"}, "rowwise"},
                    ExchangeCase{"gw_hp", Precision::float8, false, {}, "rowwise_with_gw_hp"}),
    [](const auto& c) { return c.param.name; });

TEST_P(ExchangeTrace, IsWhatTheTableSays) {
  Harness::Options o;
  o.precision = GetParam().precision;
  o.float8.recipe = GetParam().recipe;
  o.float8.bf16_linears = GetParam().bf16_linears;
  o.float8.recipe = GetParam().recipe;
  o.tp = tp;
  o.tp_keep_gathered = GetParam().keep_gathered;
  if (world_size() % tp != 0) GTEST_SKIP() << "pairs of ranks";
  Harness h(model(), seq_len, o);
  h.sharded().initialize(1);
  const std::vector<std::int32_t> tokens(static_cast<std::size_t>(seq_len * h.mesh().dp().size()), 3);
  h.forward_backward(tokens, tokens);
  h.sharded().finish_step(1, 1e-3);  // the first step of recipe delayed is dynamic
  h.communication.clear();
  h.forward_backward(tokens, tokens);

  const LlamaSettings settings = h.llama_settings();
  const Calls block = expected(block_exchanges(settings, 0, h.stream()));
  EXPECT_EQ(traced(h, "block.0"), block);
  EXPECT_EQ(traced(h, "block.1"), block);
  // fp8 gathers carry one byte a value.
  for (const CommRecord& r : h.communication.records()) {
    if (r.operation != "all_gather") continue;
    EXPECT_EQ(r.bytes, r.count * r.ranks * size_of(r.dtype));
  }
  const std::string table = exchange_table(settings, 0, h.stream());
  const bool reduced = o.precision == Precision::float8 && o.float8.recipe == "tensorwise";
  EXPECT_EQ(table.find("MAX over tp") != std::string::npos, reduced) << table;
  EXPECT_EQ(table.find("once a step") != std::string::npos, o.float8.recipe == "delayed") << table;
  if (!o.float8.recipe.starts_with("rowwise")) return;
  // Rowwise: bf16 travels, and nothing of abs-maxes.
  EXPECT_NE(table.find("own vectors  e4m3 after gather  bf16 gathered"), std::string::npos) << table;
  for (const auto& [call, count] : block) {
    EXPECT_EQ(std::get<DType>(call), DType::bf16) << std::get<std::string>(call);
  }
}

}  // namespace
}  // namespace octet
