// States that shrink with the number of shards. (That what is planned is what a run holds: dry_run_test.cpp.)
#include <gtest/gtest.h>

#include "src/base/error.h"
#include "src/ops/recipe.h"
#include "src/train/plan/memory_plan.h"
#include "tests/equivalence/harness.h"

namespace octet {
namespace {

class MemoryTest : public testing::Test {
 protected:
  static constexpr std::int64_t seq_len = 32, sequences_a_rank = 2;

  static ModelConfig model_of(bool tied) {
    ModelConfig m;
    m.name = "memory";
    m.dim = 64;
    m.layers = 3;
    m.heads = 4;
    m.kv_heads = 2;
    m.ffn_dim = 160;
    m.vocab_size = 300;
    m.tied_embedding = tied;
    m.finish();
    return m;
  }

  struct Measured {
    MemoryPlan peak;
    std::int64_t parameters = 0;  ///< of the model
    int shards = 1;
  };

  /// Two training steps and a validation on all ranks.
  static Measured run(const Harness::Options& options, bool tied) {
    MemoryLedger& ledger = cpu_device().ledger();
    MemoryPlan before;
    for (int p = 0; p < static_cast<int>(Purpose::count); ++p) {
      before.bytes[static_cast<std::size_t>(p)] = ledger.usage(static_cast<Purpose>(p)).now;
    }
    Measured m;
    Harness h(model_of(tied), seq_len, options);
    ledger.reset_peaks();
    h.sharded().initialize(1);
    const std::vector<std::int32_t> tokens(static_cast<std::size_t>(sequences_a_rank * seq_len * h.mesh().dp().size()),
                                           7);
    for (std::int64_t step = 1; step <= 2; ++step) {
      h.forward_backward(tokens, tokens);
      h.sharded().finish_step(step, 1e-3);
    }
    float loss = 0;
    h.sharded().evaluate({tokens.data(), tokens.data(), 1.0f, &loss});

    for (std::size_t p = 0; p < before.bytes.size(); ++p) {
      m.peak.bytes[p] = ledger.usage(static_cast<Purpose>(p)).peak - before.bytes[p];
    }
    m.parameters = model_of(tied).parameters();
    m.shards = h.mesh().fsdp().size();
    return m;
  }
};

struct MemoryCase {
  const char* name;
  Precision precision;
  bool float8_all_gather, lets_go, tied;
  std::int64_t micro_batch;
  DType gradient_wire = DType::f32;
  RecomputeConfig recompute{};
  const char* recipe = "tensorwise";
  bool overlap = false;
  DType gemm_gradient_dtype = DType::f32;
};

MemoryCase recomputing(const char* name, const RecomputeConfig& recompute) {
  return {name, Precision::float8, true, true, false, 1, DType::f32, recompute};
}

void PrintTo(const MemoryCase& c, std::ostream* out) {
  *out << c.name;
}

class Memory : public MemoryTest, public testing::WithParamInterface<MemoryCase> {
 protected:
  void SetUp() override {
    if (GetParam().gradient_wire == DType::bf16 && world_size() == 1) GTEST_SKIP() << "one rank: nothing travels";
  }
  Measured measure() const {
    Harness::Options options;
    options.precision = GetParam().precision;
    options.float8.all_gather = GetParam().float8_all_gather ? AutoBool::yes : AutoBool::no;
    options.float8.recipe = GetParam().recipe;
    options.float8.delayed_history = 16;
    options.float8.bf16_first_layers = options.float8.recipe == "delayed" ? 1 : 0;
    options.zero = GetParam().lets_go ? Zero::three : Zero::two;
    options.micro_batch = GetParam().micro_batch;
    options.gradient_wire = GetParam().gradient_wire;
    options.gemm_gradient_dtype = GetParam().gemm_gradient_dtype;
    options.overlap = GetParam().overlap;
    options.recompute = GetParam().recompute;
    return run(options, GetParam().tied);
  }
};

INSTANTIATE_TEST_SUITE_P(
    Cases, Memory,
    testing::Values(
        MemoryCase{"fp32", Precision::fp32, true, true, false, 1},
        MemoryCase{"bf16", Precision::bf16, true, true, false, 2},
        MemoryCase{"bf16_kept", Precision::bf16, true, false, false, 1},
        MemoryCase{"float8", Precision::float8, true, true, false, 1},
        MemoryCase{"float8_tied", Precision::float8, true, true, true, 2},
        MemoryCase{"float8_tied_accumulating", Precision::float8, true, true, true, 1},
        MemoryCase{"delayed", Precision::float8, true, true, true, 1, DType::f32, {}, "delayed"},
        MemoryCase{"delayed_full",
                   Precision::float8,
                   true,
                   true,
                   false,
                   1,
                   DType::f32,
                   {.mode = RecomputeMode::full},
                   "delayed"},
        MemoryCase{"bf16_wire", Precision::bf16, true, true, false, 1, DType::bf16},
        MemoryCase{"bf16_wire_tied", Precision::bf16, true, true, true, 2, DType::bf16},
        MemoryCase{
            "bf16_of_gemms", Precision::bf16, true, true, true, 2, DType::bf16, {}, "tensorwise", false, DType::bf16},
        MemoryCase{"bf16_of_gemms_overlap",
                   Precision::float8,
                   true,
                   true,
                   false,
                   1,
                   DType::bf16,
                   {},
                   "tensorwise",
                   true,
                   DType::bf16},
        recomputing("full", {.mode = RecomputeMode::full}),
        recomputing("full_every_2", {.mode = RecomputeMode::full, .every = 2}),
        recomputing("ffn", {.mode = RecomputeMode::selective, .preset = RecomputePreset::ffn}),
        MemoryCase{"float8_bf16_gather", Precision::float8, false, true, false, 1},
        MemoryCase{"rowwise", Precision::float8, false, true, false, 1, DType::f32, {}, "rowwise"},
        MemoryCase{"rowwise_kept", Precision::float8, false, false, true, 2, DType::f32, {}, "rowwise"},
        MemoryCase{"overlap", Precision::bf16, true, true, true, 1, DType::f32, {}, "tensorwise", true},
        MemoryCase{"overlap_bf16_wire", Precision::float8, false, true, false, 2, DType::bf16, {}, "tensorwise", true},
        MemoryCase{"gw_hp", Precision::float8, false, true, false, 1, DType::f32, {}, "rowwise_with_gw_hp"}),
    [](const auto& c) { return c.param.name; });

/// Alignment adds at most 256 bytes a parameter, padding at most a row of 160 elements; all else is divided.
TEST_P(Memory, StatesShrinkWithTheNumberOfShards) {
  const Measured m = measure();
  const std::int64_t share = 4 * m.parameters / m.shards, slack = 31 * (256 + 160 * 4);
  EXPECT_GE(m.peak[Purpose::parameters], share);
  EXPECT_LE(m.peak[Purpose::parameters], share + slack);
  EXPECT_GE(m.peak[Purpose::optimizer], 2 * share);
  EXPECT_LE(m.peak[Purpose::optimizer], 2 * (share + slack));
  // Beside its shard, one unit of gradients on its way (two when the tied embedding waits), its pieces included; with
  // overlap one more.
  const bool of_gemms = GetParam().gemm_gradient_dtype == DType::bf16;
  const std::int64_t block = 50'000 * (of_gemms ? 2 : 4), unit = 4 * 300 * 64 + block * (GetParam().overlap ? 2 : 1);
  const std::int64_t beside = of_gemms ? block : unit / m.shards;
  EXPECT_GE(m.peak[Purpose::gradients], share);
  EXPECT_LE(m.peak[Purpose::gradients], share + slack + (m.shards > 1 ? unit + beside : 0));
}

using MemoryOfStreams = MemoryTest;

TEST_F(MemoryOfStreams, GroupsOnAnotherStreamThanTheModelAreRefused) {
  const auto stream = cpu_device().make_stream(), other = cpu_device().make_stream();
  Mesh mesh(make_mpi_communicator(*other, "world"), {.dp_shard = 0});
  const LlamaSettings settings{.model = model_of(false), .micro_batch = 1, .seq_len = seq_len};
  EXPECT_THROW(ShardedModel(settings, {}, {}, mesh, *stream, nullptr), Error);
  Mesh right(make_mpi_communicator(*stream, "world"), {.dp_shard = 0});
  EXPECT_NO_THROW(ShardedModel(settings, {}, {}, right, *stream, nullptr));
}

}  // namespace
}  // namespace octet
