// The table of fp8 GEMMs by which a run is refused at start (src/model/float8_gemms.h) is what a step really runs.
#include "src/model/float8_gemms.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "src/model/gemm_formats.h"
#include "tests/equivalence/harness.h"

namespace octet {
namespace {

class Float8Gemms : public testing::Test {
 protected:
  using Gemm = std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t>;

  /// No two extents are equal, so that one in another's place shows. All are multiples of `multiple`, also on 4 ranks.
  static ModelConfig model(std::int64_t multiple) {
    ModelConfig m;
    m.name = "shapes";
    m.dim = 6 * multiple;
    m.layers = 2;
    m.heads = 8;
    m.kv_heads = 4;
    m.head_dim = multiple;
    m.ffn_dim = 20 * multiple;
    m.vocab_size = 64;
    m.finish();
    return m;
  }

  static std::set<Gemm> run(const ModelConfig& model, const Harness::Options& options, std::int64_t seq_len) {
    Harness h(model, seq_len, options);
    h.sharded().initialize(11);
    const auto n = static_cast<std::size_t>(seq_len * h.mesh().dp().size());
    const std::vector<std::int32_t> ids(n, 3);
    h.forward_backward(ids, ids);
    std::set<Gemm> all;
    for (const GemmTrace::Record& r : h.gemms.records()) {
      if (is_float8(r.a)) all.insert({r.linear, r.gemm, r.m, r.n, r.k});
    }
    return all;
  }

  static std::set<Gemm> table(const ModelConfig& model, const Harness::Options& o, std::int64_t tokens) {
    std::set<Gemm> all;
    for (const EqualBlocks& blocks : equal_blocks(model, o.precision, o.float8)) {
      for (const Float8Gemm& g : float8_gemms(model.part(o.tp), blocks.recipes, tokens, o.async_tp ? o.tp : 1)) {
        const std::string_view name = blocks.recipes[static_cast<std::size_t>(g.linear)].name;
        all.insert({std::string(name), std::string(g.gemm), g.m.value, g.n.value, g.k.value});
      }
    }
    return all;
  }
};

TEST_F(Float8Gemms, AreThoseOfAStep) {
  const int ranks = world_size();
  for (const std::string& recipe : float8_recipe_names()) {
    for (const int tp : {1, 2, 4}) {
      if (ranks % tp != 0) continue;
      for (const bool async : {false, true}) {
        if (async && (tp == 1 || float8_recipe({.recipe = recipe})->casts_where_read())) continue;
        SCOPED_TRACE(fmt::format("{}, tp {}, async {}", recipe, tp, async));
        const Harness::Options options{.precision = Precision::float8,
                                       .float8 = {.recipe = recipe, .bf16_linears = {"layers.0.attention.wk"}},
                                       .tp = tp,
                                       .async_tp = async};
        const std::int64_t multiple = float8_recipe({.recipe = recipe})->multiple(), seq_len = 4 * multiple;
        EXPECT_EQ(run(model(multiple), options, seq_len), table(model(multiple), options, seq_len));
      }
    }
  }
}

}  // namespace
}  // namespace octet
