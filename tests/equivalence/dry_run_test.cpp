// A run beside the same run dry: what it asked of its groups, its GEMMs, and the memory that it held.
#include "src/train/plan/dry_run.h"

#include <span>

#include "src/comm/trace.h"
#include "src/ops/recipes/recipe_list.h"
#include "src/train/plan/memory_plan.h"
#include "src/train/plan/step_collectives.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/support/sampler_of.h"

namespace octet {
namespace {

struct Layout {
  const char* name;
  Precision precision = Precision::float8;
  int replicas = 1, tp = 1;
  std::int64_t micro_batch = 1;
  const char* recipe = "tensorwise";
  RecomputeConfig recompute{};
  ParallelConfig parallel{};  ///< the rest of it
  bool tied = false;
  AutoBool all_gather = AutoBool::automatic;
  std::int64_t micro_batches = 2;  ///< a step
  bool documents = false;          ///< data.document_mask
  bool beside = false;             ///< optimizer.beside_forward
};

void PrintTo(const Layout& layout, std::ostream* out) {
  *out << layout.name;
}

using Peaks = std::array<std::int64_t, static_cast<std::size_t>(Purpose::count)>;

/// What a run leaves behind that a dry one has to leave too.
struct Found {
  std::string calls, gemms;                 ///< one a line
  std::vector<std::size_t> at_once;         ///< calls that started together
  std::vector<std::string> of_second_step;  ///< calls between several ranks, or of one that exchanges, sorted
  Peaks peaks{};                            ///< of memory, by purpose
  std::int64_t all = 0;                     ///< peak of the sum
};

std::string text_of(const CommRecord& r) {
  return fmt::format("{} {} {} {} {}", r.operation, r.group, name_of(r.dtype), r.count, r.bytes);
}

class DryRuns : public TrainerTest, public testing::WithParamInterface<Layout> {
 protected:
  /// Whether the ranks of this program can be laid out so. On 8 ranks, which are slow on few cores, those alone that
  /// need many.
  bool fits() const {
    const Layout& l = GetParam();
    const int ranks = world_->size(), rest = l.replicas * l.tp * static_cast<int>(l.parallel.pp);
    if (ranks % rest != 0 || (ranks > 4 && rest < 4)) return false;
    if (ranks / rest > 1) return !l.parallel.one_rank_exchange;
    return l.parallel.one_rank_exchange || ((l.parallel.gradient_wire == GradientForm::fp32 || l.micro_batches == 1) &&
                                            l.parallel.overlap != AutoBool::yes);
  }

  void SetUp() override {
    if (!fits()) GTEST_SKIP() << "not with " << world_->size() << " ranks";
    const Layout& l = GetParam();
    config_.model = {.name = "dry",
                     .dim = 64,
                     .layers = 3,
                     .heads = 4,
                     .kv_heads = 4,
                     .head_dim = 16,
                     .ffn_dim = 192,
                     .vocab_size = 76,
                     .tied_embedding = l.tied};
    config_.precision = l.precision;
    config_.float8.recipe = l.recipe;
    config_.float8.all_gather = l.all_gather;
    config_.float8.delayed_history = 4;
    config_.recompute = l.recompute;
    if (float8_recipe(config_.float8)->multiple() == 128) {  // also on 2 tensor-parallel ranks
      config_.model.dim = 256;
      config_.model.head_dim = 64;
      config_.model.ffn_dim = 768;
    }
    config_.optimizer.beside_forward = l.beside ? AutoBool::yes : AutoBool::automatic;
    config_.parallel = l.parallel;
    config_.parallel.dp_replicate = l.replicas;
    config_.parallel.tp = l.tp;
    config_.train.micro_batch = l.micro_batch;
    if (l.parallel.pp > 1) config_.model.layers = 5;
    config_.train.global_batch = l.micro_batches * l.micro_batch * world_->size() / l.tp / l.parallel.pp;
    config_.train.validation_batches = 1;
    if (l.documents) {
      config_.data.train = {{write_documents(), 1.0}};
      config_.data.document_mask = true;
    }
  }
  MeshShape shape() const {
    const Layout& l = GetParam();
    const int pp = static_cast<int>(l.parallel.pp);
    return {.pp = pp, .dp_replicate = l.replicas, .dp_shard = world_->size() / l.replicas / l.tp / pp, .tp = l.tp};
  }

  /// Two steps, a validation and one more step.
  template <typename Step, typename Validate>
  Found trained(CommTrace& trace, const GemmTrace& gemms, const MemoryLedger& ledger, const Peaks& before, Step&& step,
                Validate&& validate) const {
    Found f;
    step(1);
    const std::size_t first = trace.records().size();
    step(2);
    for (const CommRecord& r : std::span(trace.records()).subspan(first)) {
      if (r.ranks > 1 || config_.parallel.one_rank_exchange) f.of_second_step.push_back(text_of(r));
    }
    std::ranges::sort(f.of_second_step);
    validate();
    step(3);
    f.calls = trace.json_lines();
    f.gemms = gemms.json_lines();
    for (const auto& start : trace.starts()) f.at_once.push_back(start.size());
    f.all = ledger.total().peak;
    for (std::size_t p = 0; p < f.peaks.size(); ++p) {
      f.peaks[p] = ledger.usage(static_cast<Purpose>(p)).peak - before[p];
      f.all -= before[p];
    }
    return f;
  }

  Found real() {
    MemoryLedger& ledger = cpu_device().ledger();
    Peaks before{};
    for (std::size_t p = 0; p < before.size(); ++p) before[p] = ledger.usage(static_cast<Purpose>(p)).now;
    ledger.reset_peaks();
    CommTrace trace;
    GemmTrace gemms;
    Mesh mesh(make_traced(make_mpi_communicator(*stream_, "world"), &trace), shape());
    Trainer trainer(config_, test::sampler_of(config_), mesh, *world_, *stream_, &gemms);
    return trained(
        trace, gemms, ledger, before, [&](std::int64_t step) { train_step(trainer, step); },
        [&] { trainer.validate(); });
  }
  Found dry() const {
    DryRun run(config_, shape(), world_->rank(), DeviceType::cpu);
    return trained(
        run.trace(), run.gemms(), run.ledger(), {}, [&](std::int64_t) { run.step(); }, [&] { run.validate(); });
  }
};

TEST_P(DryRuns, AreTheRunLineByLineAndByteByByte) {
  const Found expected = real(), mine = dry();
  EXPECT_FALSE(expected.calls.empty());
  EXPECT_EQ(mine.calls, expected.calls);
  EXPECT_EQ(mine.at_once, expected.at_once);
  EXPECT_EQ(mine.gemms, expected.gemms);

  // The plan takes two micro-batches at most.
  const MemoryPlan plan = plan_run(config_, shape(), world_->rank(), world_->size(), DeviceType::cpu);
  for (std::size_t p = 0; p < mine.peaks.size(); ++p) {
    EXPECT_EQ(mine.peaks[p], expected.peaks[p]) << name_of(static_cast<Purpose>(p));
    EXPECT_EQ(plan.bytes[p], expected.peaks[p]) << name_of(static_cast<Purpose>(p));
  }
  EXPECT_EQ(mine.all, expected.all);
  EXPECT_GT(expected.all, 0);

  std::vector<std::string> counted;
  for (const StepCollective& c : step_collectives(config_, shape(), world_->rank())) {
    for (std::int64_t i = 0; i < c.times; ++i) {
      for (const CommRecord& r : c.calls) counted.push_back(text_of(r));
    }
  }
  std::ranges::sort(counted);
  EXPECT_EQ(counted, expected.of_second_step);
}

const RecomputeConfig full{.mode = RecomputeMode::full}, every_2{.mode = RecomputeMode::full, .every = 2},
    ffn{.mode = RecomputeMode::selective, .preset = RecomputePreset::ffn},
    elementwise{.mode = RecomputeMode::selective, .preset = RecomputePreset::elementwise};

INSTANTIATE_TEST_SUITE_P(
    Layouts, DryRuns,
    testing::Values(
        Layout{"fp32", Precision::fp32}, Layout{.name = "documents", .precision = Precision::bf16, .documents = true},
        Layout{.name = "documents_tp_2", .tp = 2, .micro_batch = 2, .recompute = full, .documents = true},
        Layout{.name = "documents_pp_2", .parallel = {.pp = 2}, .micro_batches = 3, .documents = true},
        Layout{.name = "bf16", .precision = Precision::bf16, .micro_batches = 3}, Layout{"tensorwise"},
        Layout{.name = "kept", .parallel = {.zero = Zero::two}},
        Layout{.name = "whole", .parallel = {.zero = Zero::one}, .micro_batches = 3},
        Layout{.name = "whole_tied_bf16",
               .recipe = "delayed",
               .parallel = {.zero = Zero::one, .whole_gradients = GradientForm::bf16},
               .tied = true,
               .micro_batches = 3},
        Layout{.name = "whole_overlap_bf16_wire",
               .precision = Precision::bf16,
               .parallel = {.zero = Zero::one, .gradient_wire = GradientForm::bf16, .overlap = AutoBool::yes},
               .micro_batches = 3},
        Layout{.name = "whole_bf16_overlap",
               .recompute = full,
               .parallel = {.zero = Zero::one, .whole_gradients = GradientForm::bf16, .overlap = AutoBool::yes}},
        Layout{.name = "whole_one_micro_batch", .parallel = {.zero = Zero::one}, .micro_batches = 1},
        Layout{.name = "whole_one_rank_exchange",
               .parallel = {.zero = Zero::one, .overlap = AutoBool::yes, .one_rank_exchange = true}},
        Layout{.name = "whole_tp_2_replicas_2",
               .replicas = 2,
               .tp = 2,
               .recipe = "rowwise",
               .parallel = {.zero = Zero::one}},
        Layout{.name = "whole_tp_2", .precision = Precision::fp32, .tp = 2, .parallel = {.zero = Zero::one}},
        Layout{.name = "bf16_gather", .micro_batch = 2, .all_gather = AutoBool::no},
        Layout{.name = "delayed", .recipe = "delayed", .recompute = full},
        Layout{.name = "delayed_tied", .recipe = "delayed", .tied = true, .all_gather = AutoBool::no},
        Layout{.name = "rowwise", .micro_batch = 2, .recipe = "rowwise", .recompute = ffn},
        Layout{.name = "gw_hp", .recipe = "rowwise_with_gw_hp"},
        Layout{.name = "blockwise", .micro_batch = 8, .recipe = "blockwise", .recompute = ffn},
        Layout{.name = "tp_2_blockwise", .tp = 2, .micro_batch = 8, .recipe = "blockwise"},
        Layout{.name = "bf16_wire", .recompute = every_2, .parallel = {.gradient_wire = GradientForm::bf16}},
        Layout{
            .name = "bf16_wire_fp32", .precision = Precision::fp32, .parallel = {.gradient_wire = GradientForm::bf16}},
        Layout{.name = "bf16_gradients",
               .precision = Precision::bf16,
               .parallel = {.gradient_wire = GradientForm::bf16},
               .micro_batches = 1},
        Layout{.name = "bf16_gradients_whole",
               .micro_batch = 2,
               .parallel = {.zero = Zero::one, .gradient_wire = GradientForm::bf16},
               .tied = true,
               .micro_batches = 1},
        Layout{.name = "bf16_gradients_tp_2",
               .tp = 2,
               .recipe = "rowwise",
               .recompute = full,
               .parallel = {.gradient_wire = GradientForm::bf16},
               .micro_batches = 1},
        Layout{.name = "bf16_gradients_pp_2",
               .recipe = "delayed",
               .parallel = {.pp = 2, .pp_schedule = PipelineOrder::zb_h1, .gradient_wire = GradientForm::bf16},
               .micro_batches = 3},
        Layout{.name = "overlap", .parallel = {.overlap = AutoBool::yes}, .tied = true, .micro_batches = 3},
        Layout{.name = "overlap_bf16_wire",
               .recompute = elementwise,
               .parallel = {.gradient_wire = GradientForm::bf16, .overlap = AutoBool::yes},
               .all_gather = AutoBool::no},
        Layout{.name = "one_rank_exchange", .parallel = {.overlap = AutoBool::yes, .one_rank_exchange = true}},
        Layout{.name = "one_rank_exchange_bf16_wire",
               .parallel = {.gradient_wire = GradientForm::bf16, .overlap = AutoBool::yes, .one_rank_exchange = true}},
        Layout{.name = "replicas", .replicas = 2}, Layout{.name = "tp_2", .tp = 2, .tied = true},
        Layout{.name = "tp_2_fp32", .precision = Precision::fp32, .tp = 2},
        Layout{
            .name = "tp_2_kept", .tp = 2, .micro_batch = 2, .recompute = full, .parallel = {.tp_keep_gathered = true}},
        Layout{.name = "async_tp_2", .tp = 2, .recipe = "rowwise", .recompute = full, .parallel = {.async_tp = true}},
        Layout{.name = "async_tp_4_delayed",
               .tp = 4,
               .recipe = "delayed",
               .recompute = ffn,
               .parallel = {.async_tp = true}},
        Layout{.name = "tp_4", .tp = 4, .all_gather = AutoBool::no},
        Layout{.name = "replicas_2_tp_2",
               .precision = Precision::bf16,
               .replicas = 2,
               .tp = 2,
               .recompute = ffn,
               .parallel = {.overlap = AutoBool::yes}},
        Layout{.name = "pp_2", .parallel = {.pp = 2}, .micro_batches = 5},
        Layout{.name = "pp_2_kept_tied",
               .precision = Precision::bf16,
               .recompute = full,
               .parallel = {.pp = 2, .zero = Zero::three},
               .tied = true,
               .micro_batches = 4},
        Layout{.name = "pp_2_interleaved",
               .recompute = every_2,
               .parallel = {.pp = 2, .pp_schedule = PipelineOrder::interleaved, .pp_chunks = 2},
               .micro_batches = 3},
        Layout{.name = "pp_2_zb_h1",
               .recompute = every_2,
               .parallel = {.pp = 2, .pp_schedule = PipelineOrder::zb_h1, .zero = Zero::one},
               .micro_batches = 4},
        Layout{.name = "pp_2_tp_2_zb_h1_delayed",
               .tp = 2,
               .recipe = "delayed",
               .parallel = {.pp = 2, .pp_schedule = PipelineOrder::zb_h1},
               .tied = true,
               .micro_batches = 3},
        Layout{.name = "pp_2_delayed",
               .recipe = "delayed",
               .recompute = ffn,
               .parallel = {.pp = 2, .zero = Zero::one},
               .micro_batches = 3},
        Layout{.name = "pp_2_tp_2_overlap",
               .tp = 2,
               .micro_batch = 2,
               .recipe = "rowwise",
               .parallel = {.pp = 2, .pp_layout = "2, 3", .overlap = AutoBool::automatic},
               .tied = true},
        Layout{.name = "beside", .precision = Precision::bf16, .beside = true},
        Layout{.name = "beside_replicas_2", .replicas = 2, .recompute = full, .tied = true, .beside = true},
        Layout{.name = "beside_overlap",
               .recipe = "delayed",
               .parallel = {.overlap = AutoBool::yes},
               .micro_batches = 3,
               .beside = true},
        Layout{.name = "beside_one_rank_exchange",
               .parallel = {.overlap = AutoBool::yes, .one_rank_exchange = true},
               .beside = true},
        Layout{.name = "beside_pp_2", .parallel = {.pp = 2}, .micro_batches = 5, .beside = true},
        Layout{.name = "pp_4_replicas_2", .replicas = 2, .parallel = {.pp = 4}, .micro_batches = 6},
        Layout{.name = "replicas_2_tp_2_delayed", .replicas = 2, .tp = 2, .micro_batch = 2, .recipe = "delayed"}),
    [](const auto& layout) { return layout.param.name; });

}  // namespace
}  // namespace octet
