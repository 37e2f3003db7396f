// Bytes that travel in one training step of a pipeline, from the trace of each rank, against the formulas of
// docs/communication.md, exactly.
#include <map>

#include "src/comm/trace.h"
#include "src/train/step/pipeline_plan.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/support/sampler_of.h"

namespace octet {
namespace {

struct PipelineCase {
  const char* name;
  Precision precision = Precision::fp32;
  ParallelConfig parallel{};
  bool tied = false;
};

void PrintTo(const PipelineCase& c, std::ostream* out) {
  *out << c.name;
}

class PipelineBytes : public TrainerTest, public testing::WithParamInterface<PipelineCase> {
 protected:
  static constexpr std::int64_t micro_batches = 4;
  using Bytes = std::map<std::string, std::int64_t>;  ///< by "group operation"

  void SetUp() override {
    const PipelineCase& c = GetParam();
    const int others = static_cast<int>(c.parallel.pp * c.parallel.tp);
    if (world_->size() % others != 0) GTEST_SKIP() << "not with " << world_->size() << " ranks";
    config_.model = {.name = "bytes",
                     .dim = 32,
                     .layers = 5,
                     .heads = 4,
                     .kv_heads = 2,
                     .head_dim = 8,
                     .ffn_dim = 48,
                     .vocab_size = 52,
                     .tied_embedding = c.tied};
    config_.precision = c.precision;
    config_.parallel = c.parallel;
    config_.parallel.dp_shard = world_->size() / others;
    config_.train.global_batch = micro_batches * config_.parallel.dp_shard;
  }
  MeshShape shape() const {
    const ParallelConfig& p = config_.parallel;
    return {.pp = static_cast<int>(p.pp), .dp_shard = static_cast<int>(p.dp_shard), .tp = static_cast<int>(p.tp)};
  }

  /// What the ranks of a pipeline and of a shard group say to each other: the rows of pp, and of dp_shard with zero 1
  /// and 2.
  Bytes formula(const MeshCoordinates& at) const {
    Bytes all;
    const auto add = [&](const std::string& what, std::int64_t bytes) {
      if (bytes > 0) all[what] += bytes;
    };
    const ParallelConfig& p = config_.parallel;
    const bool fp32 = config_.precision == Precision::fp32;
    const std::int64_t message = seq * config_.model.dim * (fp32 ? 4 : 2) / p.tp;
    const PipelinePlan plan = pipeline_plan(config_, shape(), at.pp);
    for (std::int64_t chunk = 0; chunk < p.pp_chunks; ++chunk) {
      const std::int64_t stage = chunk * p.pp + at.pp;
      const std::int64_t below = stage > 0 ? micro_batches * message : 0;  // a border with the stage before
      const std::int64_t above = stage + 1 < p.pp * p.pp_chunks ? micro_batches * message : 0;
      add("pp_down recv", below);
      add("pp_up send", below);
      add("pp_down send", above);
      add("pp_up recv", above);
    }
    const bool end = at.pp == 0 || at.pp + 1 == p.pp;
    const std::int64_t times = p.zero_with(p.dp_shard) == Zero::one ? 1 : micro_batches;
    const ParameterList whole = llama_parameters(config_.model, config_.precision, config_.float8, {0, shape().tp});
    for (const ParameterSpec& spec : whole.parameters) {
      const std::int64_t rows = (spec.shape[0] + p.dp_shard - 1) / p.dp_shard * p.dp_shard;
      const std::int64_t elements = rows * spec.shape.row_elements();
      const bool at_both_ends = GetParam().tied && spec.unit == embedding_unit;
      if (at_both_ends && end) {
        add("pp send", elements / p.dp_shard * 4);
        add("pp recv", elements / p.dp_shard * 4);
      }
      const auto has = [&](const UnitRange& units) { return units.has(spec.unit); };
      if (p.dp_shard == 1 || !(std::ranges::any_of(plan.stages, has) || (at_both_ends && end))) continue;
      add("dp_shard all_gather", elements * size_of(spec.gathered));
      add("dp_shard reduce_scatter", times * elements * 4);
    }
    return all;
  }
};

TEST_P(PipelineBytes, AreTheFormulas) {
  CommTrace trace;
  Mesh mesh(make_traced(make_mpi_communicator(*stream_, "world"), &trace), shape());
  Trainer trainer(config_, test::sampler_of(config_), mesh, *world_, *stream_, nullptr);
  train_step(trainer, 1);
  trace.clear();
  train_step(trainer, 2);
  Bytes found;
  for (const CommRecord& r : trace.records()) {
    if (r.ranks > 1 && (r.group.starts_with("pp") || r.group == "dp_shard")) {
      found[r.group + " " + r.operation] += r.bytes;
    }
  }
  EXPECT_EQ(found, formula(mesh.coordinates()));
}

ParallelConfig parallel(int pp, int tp = 1, int chunks = 1, Zero zero = Zero::automatic,
                        PipelineOrder order = PipelineOrder::one_f_one_b) {
  ParallelConfig p{.tp = tp, .pp = pp};
  p.pp_chunks = chunks;
  p.pp_schedule = chunks > 1 ? PipelineOrder::interleaved : order;
  p.zero = zero;
  return p;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, PipelineBytes,
    testing::Values(
        PipelineCase{"fp32_tied", Precision::fp32, parallel(2), true},
        PipelineCase{"bf16_interleaved", Precision::bf16, parallel(2, 1, 2, Zero::one)},
        PipelineCase{"float8", Precision::float8, parallel(2)},
        PipelineCase{"float8_tied_zb", Precision::float8, parallel(2, 1, 1, Zero::one, PipelineOrder::zb_h1), true},
        PipelineCase{"fp32_tp_2_tied_interleaved", Precision::fp32, parallel(2, 2, 2), true},
        PipelineCase{"float8_tp_2_zb", Precision::float8, parallel(2, 2, 1, Zero::two, PipelineOrder::zb_h1)},
        PipelineCase{"bf16_pp_4", Precision::bf16, parallel(4), true}),
    [](const auto& c) { return c.param.name; });

}  // namespace
}  // namespace octet
