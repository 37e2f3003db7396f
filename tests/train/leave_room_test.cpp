// Which GEMMs of a run are chosen for the multiprocessors that the update beside them leaves, on a device without
// memory.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "kernels/gemm.h"
#include "src/run_config/checks/layout.h"
#include "src/train/plan/dry_run.h"

namespace octet {
namespace {

constexpr std::int64_t vocabulary = 384;
constexpr int of_an_h100 = 132;

/// In bf16, where only a forward GEMM reads x [n, in] and w [out, in] as they are stored.
bool is_forward(const Gemm& g) {
  return !g.a.transposed && g.b.transposed;
}
bool is_of_head(const Gemm& g) {
  return g.m == vocabulary || g.n == vocabulary || g.k == vocabulary;
}

/// The GEMMs of the blocks, in order.
class Gemms final : public WorkLog {
 public:
  double add(const Stream&, const Work& work, const Turn&) override {
    if (work.name != "gemm") return 0;
    const Gemm& gemm = *static_cast<const Gemm*>(work.arguments);
    if (is_of_head(gemm)) {
      EXPECT_EQ(gemm.multiprocessors, 0) << "when the head computes, all is updated";
    } else {
      all.push_back(gemm);
    }
    return 0;
  }
  std::vector<Gemm> all;
};

RunConfig run_of(int micro_batches, int ranks) {
  RunConfig c;
  c.device = DeviceType::cuda;
  c.model = {.name = "room",
             .dim = 256,
             .layers = 4,
             .heads = 4,
             .kv_heads = 4,
             .head_dim = 64,
             .ffn_dim = 512,
             .vocab_size = vocabulary};
  c.precision = Precision::bf16;
  c.train.seq_len = 128;
  c.train.global_batch = micro_batches * ranks;
  c.train.validation_batches = 1;
  c.data.validation_fraction = 0.1;
  c.graphs = AutoBool::no;
  c.optimizer.beside_forward = AutoBool::yes;
  c.optimizer.beside_gemms = BesideGemms::free;
  return c;
}

/// What a rank's blocks multiply: forward GEMMs, again those that backward makes again, and gradients, by the
/// multiprocessors that they are chosen for.
struct Counts {
  std::map<std::int64_t, int> forward, gradients;
  bool operator==(const Counts&) const = default;
};

class LeaveRoom : public ::testing::Test {
 protected:
  /// Two steps and a validation of rank 0.
  static std::vector<Counts> counts(RunConfig config, int ranks) {
    config.parallel = resolve_layout(config, ranks);
    const MeshShape mesh = mesh_shape(config.parallel);
    Gemms gemms;
    DryRun dry(config, mesh, 0, DeviceType::cpu, &gemms, of_an_h100);
    std::vector<Counts> parts;
    const auto part = [&] {
      Counts& counts = parts.emplace_back();
      for (const Gemm& g : gemms.all) ++(is_forward(g) ? counts.forward : counts.gradients)[g.multiprocessors];
      gemms.all.clear();
    };
    gemms.all.clear();
    dry.second_step(part);
    part();
    dry.validate();
    part();
    return parts;
  }
  static constexpr int blocks = 4, linears = 7;
  static constexpr std::int64_t free = 132 - 16;
};

/// The first micro-batch of every step, also of the first one, before which nothing is updated: a run that goes on
/// there has the numbers of one that never stopped.
TEST_F(LeaveRoom, TheFirstForwardPassOfAStep) {
  const Counts step{.forward = {{0, 2 * blocks * linears}, {free, blocks * linears}},
                    .gradients = {{0, 3 * 2 * blocks * linears}}};
  const std::vector<Counts> parts = counts(run_of(3, 2), 2);
  EXPECT_EQ(parts[0], step);
  EXPECT_EQ(parts[1], step);
  EXPECT_EQ(parts[2].forward.at(0), 3 * blocks * linears);
  EXPECT_EQ(parts[2].forward.size(), 1u) << "nothing is updated beside a validation";
}

/// What is made again has the algorithms, and so the bits, of the first time.
TEST_F(LeaveRoom, WhatItsBackwardMakesAgain) {
  RunConfig config = run_of(2, 2);
  config.recompute.mode = RecomputeMode::full;
  const Counts step = counts(config, 2)[1];
  EXPECT_EQ(step.forward.at(0), step.forward.at(free));
  EXPECT_GT(step.forward.at(free), blocks * linears);
  EXPECT_EQ(step.forward.size(), 2u);
  EXPECT_EQ(step.gradients.size(), 1u);
}

/// Of each of a rank's stages, which is updated up to its own first pass. Passes of the first stage that come before
/// the second one's leave none.
TEST_F(LeaveRoom, TheFirstForwardPassOfEachStageOfAPipeline) {
  RunConfig config = run_of(4, 1);
  config.parallel.pp = 2;
  config.parallel.pp_chunks = 2;
  config.parallel.pp_schedule = PipelineOrder::interleaved;
  const int of_rank = blocks / 2;
  const std::map<std::int64_t, int> expected{{0, 3 * of_rank * linears}, {free, of_rank * linears}};
  EXPECT_EQ(counts(config, 2)[1].forward, expected);
  config.parallel.pp_chunks = 1;
  config.parallel.pp_schedule = PipelineOrder::zb_h1;
  EXPECT_EQ(counts(config, 2)[1].forward, expected);
}

TEST_F(LeaveRoom, OnlyWhereItIsOfUse) {
  const auto forward_of = [&](int ranks, auto change) {
    RunConfig config = run_of(2, ranks);
    change(config);
    return counts(config, ranks)[1].forward;
  };
  const std::map<std::int64_t, int> all{{0, 2 * blocks * linears}};
  const std::map<std::int64_t, int> room{{0, blocks * linears}, {free, blocks * linears}};
  EXPECT_EQ(forward_of(2, [](RunConfig& c) { c.optimizer.beside_forward = AutoBool::no; }), all);
  EXPECT_EQ(forward_of(2, [](RunConfig& c) { c.optimizer.beside_gemms = BesideGemms::all; }), all);
  EXPECT_EQ(forward_of(2, [](RunConfig& c) { c.optimizer.beside_gemms = BesideGemms::automatic; }), all);
  EXPECT_EQ(forward_of(1, [](RunConfig& c) { c.optimizer.beside_gemms = BesideGemms::automatic; }), room);
  EXPECT_EQ(forward_of(2, [](RunConfig& c) { c.optimizer.beside_multiprocessors = 40; }),
            (std::map<std::int64_t, int>{{0, blocks * linears}, {92, blocks * linears}}));
}

}  // namespace
}  // namespace octet
