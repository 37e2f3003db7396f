// Bytes that travel in one training step, from the trace, against the formula of docs/communication.md, exactly.
#include <gtest/gtest.h>

#include <map>

#include "src/ops/recipes/recipe_list.h"
#include "src/train/run/step_queue.h"
#include "tests/equivalence/harness.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/support/sampler_of.h"

namespace octet {
namespace {

using Bytes = std::map<std::string, std::int64_t>;  ///< by "group operation"

Bytes traced(const CommTrace& trace) {
  Bytes all;
  for (const CommRecord& r : trace.records()) all[r.group + " " + r.operation] += r.bytes;
  return all;
}

class CommunicationBytes : public testing::Test {
 protected:
  static constexpr std::int64_t seq_len = 32, sequences_a_rank = 2;

  static ModelConfig model_of(bool tied) {
    ModelConfig m{.name = "bytes", .dim = 64, .layers = 4, .heads = 4, .kv_heads = 4, .ffn_dim = 128, .vocab_size = 76};
    m.tied_embedding = tied;
    m.finish();
    return m;
  }

  /// The formula, for a mesh of `shards` × `tp` ranks with one replica's groups beside it.
  class Formula {
   public:
    Formula(const ModelConfig& model, const Harness::Options& options, const MeshShape& mesh)
        : m_(model),
          o_(options),
          mesh_(mesh),
          micro_batches_(sequences_a_rank / options.micro_batch),
          tokens_(options.micro_batch * seq_len),
          storage_(size_of(storage_dtype(options.precision))) {}

    /// Of a step; `first`: the first of the run.
    Bytes bytes(bool first) {
      const RecipePtr recipe = float8_recipe(o_.float8);
      float8_ = o_.precision == Precision::float8 && recipe->casts_first();  // rowwise: bf16 travels
      measures_ = float8_ && (first || !recipe->remembers());
      if (float8_ && recipe->remembers()) add("world all_reduce_max", m_.layers * (4 + 7 + 7) * 4);
      remembers_ = recipe->remembers();
      const ParameterList list = llama_parameters(m_, o_.precision, o_.float8, {0, mesh_.tp});
      for (const ParameterSpec& p : list.parameters) parameter(p);
      if (mesh_.tp > 1) tensor_parallel();
      add("dp all_reduce_sum", 4);       // the loss, of the whole step in this test
      add("replica all_reduce_sum", 4);  // sum of squares of the gradients
      if (mesh_.dp_replicate > 1) add("dp_replicate all_reduce_max", 4);
      return all_;
    }

   private:
    void add(const std::string& what, std::int64_t bytes) {
      if (bytes != 0) all_[what] += bytes;
    }

    /// Times that a unit is gathered in a step.
    std::int64_t gathers(const ParameterSpec& p) const {
      if (o_.zero != Zero::three) return 1;
      const bool block = p.unit != embedding_unit && p.unit != head_unit(m_);
      const bool last = p.unit == block_unit(m_.layers - 1);  // stays until its backward
      const bool twice = (block && !last) || (p.unit == embedding_unit && m_.tied_embedding);
      return micro_batches_ * (twice ? 2 : 1);
    }

    void parameter(const ParameterSpec& p) {
      const std::int64_t shards = mesh_.dp_shard, row = p.shape.row_elements();
      const std::int64_t padded = (p.shape[0] + shards - 1) / shards * shards * row;
      const bool float8 = is_float8(p.gathered);
      if (shards > 1) {
        const std::int64_t size = float8 && !float8_recipe(o_.float8)->gathers_float8() ? 2 : size_of(p.gathered);
        add("dp_shard all_gather", gathers(p) * padded * size);
        const bool half = o_.gradient_wire == DType::bf16;
        add(half ? "dp_shard all_to_all" : "dp_shard reduce_scatter",
            (o_.zero == Zero::one ? 1 : micro_batches_) * padded * (half ? 2 : 4));
      }
      if (float8 && !remembers_) add("replica all_reduce_max", 4);
      if (float8 && !remembers_ && !float8_recipe(o_.float8)->gathers_float8() && mesh_.tp > 1)
        add("tp all_reduce_max", gathers(p) * 4);
      const std::int64_t aligned = (padded / shards + 63) / 64 * 64;  // pieces start at multiples of 256 bytes
      if (mesh_.dp_replicate > 1) add("dp_replicate all_reduce_sum", aligned * 4);
      if (mesh_.tp > 1 && p.shape.rank() == 1) {
        add("tp all_reduce_sum", padded / shards * 4);
        if (mesh_.dp_replicate > 1) add("tp broadcast", padded / shards * 4);
      }
    }

    void tensor_parallel() {
      const std::int64_t stream = tokens_ * m_.dim;  // elements of the residual stream, of all tokens
      const std::string scatter = o_.precision == Precision::fp32 ? "tp reduce_scatter" : "tp all_to_all";
      const std::int64_t operand = float8_ ? 1 : storage_;
      const std::int64_t inputs = o_.tp_keep_gathered ? 2 : 4;  // of q k v and of w1 w3, forward and again in backward
      const std::int64_t gradients = 2;                         // of wo and w2
      const std::int64_t blocks = micro_batches_ * m_.layers;
      const std::int64_t by_part = o_.async_tp ? 2 + gradients : 0;  // of the gathers: those of forward, and gradients
      add("tp all_gather", blocks * (inputs + gradients - by_part) * stream * operand);
      parts(blocks * by_part * stream * operand);
      // Outputs of wo and w2, input gradients of q k v and of w1 w3.
      const std::int64_t sums = blocks * 4 * stream * storage_;
      o_.async_tp ? parts(sums) : add(scatter, sums);
      if (measures_) add("tp all_reduce_max", blocks * 11 * 4);
      if (o_.recompute.mode != RecomputeMode::none) {
        const Again again = again_of(o_.recompute.preset, o_.tp_keep_gathered);
        const std::int64_t times = micro_batches_ * (m_.layers / o_.recompute.every - 1);
        const std::int64_t gathered = times * again.gathers * stream * operand;
        const std::int64_t summed = times * again.scatters * stream * storage_;
        o_.async_tp ? parts(gathered + summed) : add("tp all_gather", gathered);
        if (!o_.async_tp) add(scatter, summed);
      }
      add(scatter, micro_batches_ * 2 * stream * storage_);          // embedding; gradient of the head's input
      add("tp all_gather", micro_batches_ * 2 * stream * storage_);  // input of the head; gradient of the embedding
      add("tp all_gather", micro_batches_ * 3 * tokens_ * 4 * mesh_.tp);  // statistics of the loss
    }

    /// Of the whole each rank sends its part to every other, or every other's part to that one.
    void parts(std::int64_t whole) {
      const std::int64_t bytes = whole / mesh_.tp * (mesh_.tp - 1);
      add("tp send", bytes);
      add("tp recv", bytes);
    }

    /// What a block that recomputes gathers and scatters once more.
    struct Again {
      std::int64_t gathers, scatters;
    };
    static Again again_of(RecomputePreset preset, bool keep_gathered) {
      if (preset == RecomputePreset::elementwise) return {keep_gathered ? 2 : 0, 0};
      if (preset == RecomputePreset::ffn) return {keep_gathered ? 2 : 1, 0};
      return {2, 1};  // linears, and mode full
    }

    ModelConfig m_;
    Harness::Options o_;
    MeshShape mesh_;
    std::int64_t micro_batches_, tokens_, storage_;
    bool float8_ = false;     ///< fp8 travels
    bool measures_ = false;   ///< scales come from this step's abs-maxes
    bool remembers_ = false;  ///< or, from the second step on, from those of the steps before
    Bytes all_;
  };

  /// What travels in the last of so many steps.
  static Bytes step(const ModelConfig& model, const Harness::Options& options, MeshShape& mesh, int steps = 1) {
    Harness h(model, seq_len, options);
    mesh = h.mesh().shape();
    h.sharded().initialize(1);
    const std::vector<std::int32_t> tokens(static_cast<std::size_t>(sequences_a_rank * seq_len * h.mesh().dp().size()),
                                           5);
    for (int i = 1; i <= steps; ++i) {
      h.communication.clear();
      h.forward_backward(tokens, tokens);
      h.sharded().finish_step(i, 1e-3);
    }
    return traced(h.communication);
  }

  /// A change of the defaults, with one sequence a micro-batch unless it says otherwise.
  struct Variant {
    const char* name;
    bool any_precision;  ///< and with a tied embedding, too; else float8, untied
    Harness::Options options;
    int steps = 1;
  };

  static std::vector<Variant> variants() {
    const Float8Config bf16_gather{.all_gather = AutoBool::no}, rowwise{.recipe = "rowwise"},
        delayed{.recipe = "delayed"};
    const RecomputeConfig full{.mode = RecomputeMode::full},
        ffn{.mode = RecomputeMode::selective, .preset = RecomputePreset::ffn};
    return {{"plain", true, {}},
            {"large micro-batches, kept", true, {.micro_batch = 2, .tp_keep_gathered = true}},
            {"zero 2", true, {.zero = Zero::two}},
            {"zero 2, bf16 gradients", false, {.zero = Zero::two, .gradient_wire = DType::bf16}},
            {"zero 1", true, {.zero = Zero::one}},
            {"zero 1, whole in bf16", true, {.zero = Zero::one, .whole_gradients = DType::bf16}},
            {"zero 1, bf16 gradients, delayed",
             false,
             {.float8 = delayed, .zero = Zero::one, .gradient_wire = DType::bf16},
             2},
            {"zero 1, replicas, recompute full", false, {.dp_replicate = 2, .zero = Zero::one, .recompute = full}},
            {"replicas, bf16 gather", true, {.float8 = bf16_gather, .dp_replicate = 2}},
            {"bf16 gradients", true, {.gradient_wire = DType::bf16}},
            {"bf16 gradients of GEMMs", true, {.gradient_wire = DType::bf16, .gemm_gradient_dtype = DType::bf16}},
            {"recompute full", true, {.recompute = full}},
            {"recompute full, every 2, kept",
             false,
             {.tp_keep_gathered = true, .recompute = {.mode = RecomputeMode::full, .every = 2}}},
            {"recompute ffn", false, {.recompute = ffn}},
            {"recompute ffn, kept", false, {.micro_batch = 2, .tp_keep_gathered = true, .recompute = ffn}},
            {"async", true, {.async_tp = true}},
            {"async, kept, recompute full", false, {.tp_keep_gathered = true, .async_tp = true, .recompute = full}},
            {"async, delayed, recompute ffn", false, {.float8 = delayed, .async_tp = true, .recompute = ffn}, 2},
            {"rowwise", false, {.float8 = rowwise}},
            {"rowwise, recompute full", false, {.float8 = rowwise, .recompute = full}},
            {"gw_hp, replicas", false, {.float8 = {.recipe = "rowwise_with_gw_hp"}, .dp_replicate = 2}},
            {"delayed, first step", false, {.float8 = delayed}},
            {"delayed", false, {.float8 = delayed}, 2},
            {"delayed, recompute full", false, {.float8 = delayed, .micro_batch = 2, .recompute = full}, 2},
            {"delayed, bf16 gather", false, {.float8 = {.recipe = "delayed", .all_gather = AutoBool::no}}, 2}};
  }

  /// Whether so many ranks can be laid out so: refused are a bf16 wire without shards, and keeping where nothing is
  /// gathered.
  static bool fits(const Harness::Options& o, int ranks) {
    const int rest = o.tp * o.dp_replicate;
    return ranks % rest == 0 && (o.gradient_wire == DType::f32 || ranks / rest > 1);
  }
};

/// Every combination that fits the ranks of this program.
TEST_F(CommunicationBytes, AreTheFormulas) {
  const int ranks = world_size();
  int cases = 0;
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::float8}) {
    for (const int tp : {1, 2, 4}) {
      for (const Variant& variant : variants()) {
        if (!variant.any_precision && precision != Precision::float8) continue;
        Harness::Options o = variant.options;
        o.precision = precision;
        o.tp = tp;
        o.tp_keep_gathered = o.tp_keep_gathered && tp > 1;
        if (o.async_tp && tp == 1) continue;
        if (!fits(o, ranks)) continue;
        if (ranks > 3 && tp * o.dp_replicate == 1) continue;  // 2 and 3 ranks show it in less time
        for (const bool tied : {false, true}) {
          if (tied && !variant.any_precision) continue;
          SCOPED_TRACE(fmt::format("{}, tp {}, {}{}", name_of(precision), tp, variant.name, tied ? ", tied" : ""));
          MeshShape mesh;
          const Bytes found = step(model_of(tied), o, mesh, variant.steps);
          EXPECT_EQ(found, Formula(model_of(tied), o, mesh).bytes(variant.steps == 1));
          ++cases;
        }
      }
    }
  }
  EXPECT_GT(cases, 0);
}

TEST_F(CommunicationBytes, Float8GathersOneByteWhereBf16GathersTwo) {
  if (world_size() == 1) GTEST_SKIP() << "one rank gathers nothing";
  MeshShape mesh;
  Harness::Options o;
  o.precision = Precision::bf16;
  const Bytes half = step(model_of(false), o, mesh);
  o.precision = Precision::float8;
  const Bytes one = step(model_of(false), o, mesh);
  std::int64_t linears = 0;
  for (const ParameterSpec& p : llama_parameters(model_of(false), Precision::float8, {}).parameters) {
    const std::int64_t rows = (p.shape[0] + mesh.dp_shard - 1) / mesh.dp_shard * mesh.dp_shard;
    const std::int64_t times = p.unit == block_unit(model_of(false).layers - 1) ? 1 : 2;
    if (is_float8(p.gathered)) linears += times * sequences_a_rank * rows * p.shape.row_elements();
  }
  EXPECT_EQ(half.at("dp_shard all_gather") - one.at("dp_shard all_gather"), linears);
}

/// The row `control`: four numbers of a step that found nothing, whenever its results are read.
TEST_F(TrainerTest, HostsTellEachOtherSixteenBytesAStep) {
  config_.train.micro_batch = 1;
  for (const bool late : {false, true}) {
    CommTrace trace;
    const auto control = make_traced(make_mpi_communicator(*stream_, "control"), &trace);
    Mesh mesh(make_mpi_communicator(*stream_, "world"), {.dp_shard = 0});
    Trainer trainer(config_, test::sampler_of(config_), mesh, *control, *stream_, nullptr);
    StepQueue steps(trainer, *control, late);
    const auto nothing = [] { return Requests{}; };
    steps.advance(1, nothing, false);
    trace.clear();
    steps.advance(2, nothing, false);
    EXPECT_EQ(traced(trace), (Bytes{{"control all_reduce_max", 4 * 4}})) << late;
  }
}

}  // namespace
}  // namespace octet
