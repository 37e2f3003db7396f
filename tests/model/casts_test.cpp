// How often a block casts to fp8: an input that several linears share once, every output gradient once, those of w1 and
// w3 by SwiGLU's backward itself, weights never.
#include <gtest/gtest.h>

#include <tuple>

#include "src/model/block.h"
#include "src/model/checked_tensors.h"
#include "tests/model/local_state.h"

namespace octet {
namespace {

std::vector<DType> casts;  // kernels are plain functions, so the count is global

void counted_cast(Stream& stream, const CastToFloat8& cast) {
  casts.push_back(cast.to);
  cpu_kernels().cast_to_float8(stream, cast);
}

int by_row = 0, by_column = 0;

void counted_quantize(Stream& stream, const QuantizeRowwise& args) {
  by_row += args.by_row.wanted() ? 1 : 0;
  by_column += args.by_column.wanted() ? 1 : 0;
  cpu_kernels().quantize_rowwise(stream, args);
}

int vectors_by_row = 0, vectors_by_column = 0, block_casts = 0;

void counted_vectors(Stream& stream, const QuantizeVectors& args) {
  vectors_by_row += args.by_row.wanted() ? 1 : 0;
  vectors_by_column += args.by_column.wanted() ? 1 : 0;
  cpu_kernels().quantize_vectors(stream, args);
}

void counted_blocks(Stream& stream, const QuantizeBlocks& args) {
  ++block_casts;
  cpu_kernels().quantize_blocks(stream, args);
}

struct BlockCasts : testing::Test {
  ModelConfig model = test::small_model();
  Float8Config float8;
  std::unique_ptr<Stream> stream = cpu_device().make_stream();
  Arena activations{cpu_device(), 4 << 20, Purpose::activations, "activations"};
  Arena scratch{cpu_device(), 4 << 20, Purpose::workspace, "scratch"};
  NoExchange exchange;
  KernelTable kernels = cpu_kernels();
  BatchShape shape{2, 16, DType::bf16};

  using Count = std::pair<std::int64_t, std::int64_t>;  ///< to e4m3 and to e5m2
  static Count count() {
    const Count c{std::count(casts.begin(), casts.end(), DType::e4m3),
                  std::count(casts.begin(), casts.end(), DType::e5m2)};
    casts.clear();
    return c;
  }

  /// Casts of the forward and of the backward pass of one block.
  std::pair<Count, Count> run(Precision precision) {
    kernels.cast_to_float8 = counted_cast;
    kernels.quantize_rowwise = counted_quantize;
    kernels.quantize_vectors = counted_vectors;
    kernels.quantize_blocks = counted_blocks;
    casts.clear();
    by_row = by_column = 0;
    const ParameterList list = llama_parameters(model, precision, float8);
    const TensorChecks checks(cpu_device(), *stream, list.units, checked_tensor_names());
    const RopeTable rope(cpu_device(), *stream, shape.seq, model.rope_frequencies());
    OpContext op{*stream, kernels, scratch, exchange};
    const BlockLinears linears(block_recipes(model, precision, float8, 0));
    std::array<float, block_inputs> input_amax{};
    std::array<float, block_linears> gradient_amax{};
    const BlockScales scales{.input_amax = input_amax.data(), .gradient_amax = gradient_amax.data()};
    const BlockPass pass{op, model, shape, {}, rope, checks, 1, linears, scales};
    test::LocalState state(list);
    const std::vector<int> order{1};
    state.begin_pass(order);
    const auto weights = state.gather(1);

    auto a = BlockActivations::allocate({activations, activations}, model, shape, linears, scales);
    const auto h = test::random_values<bf16>(shape.tokens() * model.dim, 100);
    const auto& dh = h;
    std::vector<bf16> branch(h.size());
    const Shape wide{shape.tokens(), model.dim};
    a.h = test::view(h, wide);
    block_forward(pass, weights, {a.h, {}}, a, test::view(branch, wide));
    const Count forward = count();
    float amax = 3.0f, scale;
    alignas(gemm_scale_alignment) float inverse;
    block_backward(pass, weights, {}, state.open(1), a, {test::view(dh, wide), {&amax, &scale, &inverse}});
    EXPECT_EQ(scratch.mark(), 0);
    return {forward, count()};
  }
};

TEST_F(BlockCasts, FourInputsForwardFiveGradientsBackward) {
  const auto [forward, backward] = run(Precision::float8);
  EXPECT_EQ(forward, (Count{4, 0}));
  EXPECT_EQ(backward, (Count{0, 5}));
}

/// By row: four inputs, seven weights, seven gradients. By column: the same again, for what sums along the other
/// dimension; with a bf16 weight gradient none, but each weight with one scale.
TEST_F(BlockCasts, RowwiseCastsEveryOperandForEveryDimension) {
  float8.recipe = "rowwise";
  auto [forward, backward] = run(Precision::float8);
  EXPECT_EQ(forward, (Count{0, 0}));
  EXPECT_EQ(backward, (Count{0, 0}));
  EXPECT_EQ(by_row, 4 + 7 + 7);
  EXPECT_EQ(by_column, 4 + 7 + 7);
  float8.recipe = "rowwise_with_gw_hp";
  std::tie(forward, backward) = run(Precision::float8);
  EXPECT_EQ(forward, (Count{0, 0}));
  EXPECT_EQ(backward, (Count{7, 0}));
  EXPECT_EQ(by_row, 4 + 7 + 7);
  EXPECT_EQ(by_column, 0);
}

/// Inputs and gradients once for each dimension that is contracted; a weight's blocks for each of its two GEMMs.
TEST_F(BlockCasts, BlockwiseCastsVectorsTwiceAndWeightsInBlocks) {
  float8.recipe = "blockwise";
  model.dim = model.ffn_dim = 128;
  model.heads = model.kv_heads = 2;
  model.head_dim = 64;
  shape.seq = 64;
  run(Precision::float8);
  EXPECT_EQ(vectors_by_row, 4 + 7);
  EXPECT_EQ(vectors_by_column, 4 + 7);
  EXPECT_EQ(block_casts, 7 + 7);
  EXPECT_EQ(by_row, 0);
}

TEST_F(BlockCasts, NoneInBf16) {
  const auto [forward, backward] = run(Precision::bf16);
  EXPECT_EQ(forward, (Count{0, 0}));
  EXPECT_EQ(backward, (Count{0, 0}));
}

TEST_F(BlockCasts, AnExceptionSavesItsGradientsCastAndItsInputsIfAlone) {
  float8.bf16_linears = {"attention.wk",
                         "feed_forward.w2"};  // q and v still share a cast; w2's input has no other reader
  const auto [forward, backward] = run(Precision::float8);
  EXPECT_EQ(forward, (Count{3, 0}));
  EXPECT_EQ(backward, (Count{0, 3}));
}

}  // namespace
}  // namespace octet
