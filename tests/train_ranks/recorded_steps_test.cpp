// What a recording of training steps holds, against the trace of the same collectives; and that it changes nothing.
#include <map>
#include <set>
#include <tuple>

#include "src/comm/trace.h"
#include "src/profile/breakdown.h"
#include "src/profile/timeline.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/support/sampler_of.h"

namespace octet {
namespace {

class Profile : public TrainerTest {
 protected:
  struct Trained {
    std::vector<double> losses, norms;
    Recording recording;  ///< of steps 2 and 3
    CommTrace trace;      ///< of the same
  };

  Profile() {
    config_.train.steps = 4;
    config_.recompute.mode = RecomputeMode::full;
  }

  Trained train(bool profiled) {
    Trained t;
    const auto timeline = profiled ? std::make_unique<Timeline>(*stream_) : nullptr;
    Mesh mesh(make_traced(make_mpi_communicator(*stream_, "world"), &t.trace),
              {.dp_shard = 0, .tp = static_cast<int>(config_.parallel.tp)});
    Trainer trainer(config_, test::sampler_of(config_), mesh, *world_, *stream_, nullptr);
    for (std::int64_t step = 1; step <= config_.train.steps; ++step) {
      if (step == 2) t.trace.clear();
      if (step == 2 && profiled) timeline->begin();
      const bool records = profiled && (step == 2 || step == 3);
      if (records) timeline->begin_step(step);
      const std::size_t before = t.trace.records().size();
      const StepResult result = train_step(trainer, step);
      t.losses.push_back(result.loss);
      t.norms.push_back(result.grad_norm);
      if (step == 4) truncate(t.trace, before);
      if (records) timeline->end_step();
      if (step == 3 && profiled) t.recording = timeline->end();
    }
    return t;
  }

  static void truncate(CommTrace& trace, std::size_t count) {
    const std::vector<CommRecord> all = trace.records();
    trace.clear();
    for (std::size_t i = 0; i < count; ++i) trace.add(all[i]);
  }
};

/// Bytes by operation, group and unit. A group of calls is named after its first, and all of ours are of one kind.
using Bytes = std::map<std::tuple<std::string, std::string, std::string>, std::int64_t>;

Bytes bytes_of(const std::vector<Span>& spans) {
  Bytes bytes;
  for (const Span& s : spans) {
    if (s.kind == SpanKind::communication) bytes[{s.name, s.group, s.unit}] += s.bytes;
  }
  return bytes;
}
Bytes bytes_of(const CommTrace& trace) {
  Bytes bytes;
  for (const CommRecord& r : trace.records()) bytes[{r.operation, r.group, r.unit}] += r.bytes;
  return bytes;
}

TEST_F(Profile, ChangesNoBit) {
  const Trained plain = train(false), profiled = train(true);
  EXPECT_EQ(plain.losses, profiled.losses);
  EXPECT_EQ(plain.norms, profiled.norms);
  EXPECT_EQ(plain.trace.records(), profiled.trace.records());
  EXPECT_FALSE(profiled.recording.spans.empty());
}

TEST_F(Profile, CollectivesAreThoseOfTheTrace) {
  const Trained t = train(true);
  EXPECT_EQ(bytes_of(t.recording.spans), bytes_of(t.trace));
  EXPECT_FALSE(bytes_of(t.trace).empty());
}

TEST_F(Profile, CollectivesOfTensorParallelismAreThoseOfTheTrace) {
  if (world_->size() % 2 != 0) GTEST_SKIP() << "pairs of ranks";
  config_.model.kv_heads = 2;
  config_.model.ffn_dim = 28;
  config_.parallel.tp = 2;
  const Trained t = train(true);
  EXPECT_EQ(bytes_of(t.recording.spans), bytes_of(t.trace));
  std::set<std::string> groups;
  for (const Span& s : t.recording.spans) groups.insert(s.group);
  EXPECT_TRUE(groups.contains("tp"));
}

TEST_F(Profile, HasAnUpdateBesideTheForwardPassOnItsStreamByUnits) {
  config_.optimizer.beside_forward = AutoBool::yes;
  const Trained t = train(true);
  const auto stream = std::ranges::find(t.recording.streams, "optimizer") - t.recording.streams.begin();
  ASSERT_LT(stream, std::ssize(t.recording.streams));
  std::set<std::string> units;
  for (const Span& s : t.recording.spans) {
    EXPECT_EQ(s.stream == stream, s.name == "adamw") << s.name;
    if (s.name != "adamw") continue;
    EXPECT_EQ(s.part, StepPart::optimizer);
    units.insert(s.unit);
  }
  EXPECT_EQ(units.size(), 4u) << "embedding, two blocks and head";
}

TEST_F(Profile, HasAllKindsPartsAndUnits) {
  const Trained t = train(true);
  const std::map<std::string, StepPart> part_of = {
      {"adamw", StepPart::optimizer}, {"attention_backward", StepPart::backward}, {"read batch", StepPart::data}};
  std::set<SpanKind> kinds;
  std::set<StepPart> parts;
  std::map<StepPart, std::set<std::string>> units;
  for (const Span& s : t.recording.spans) {
    kinds.insert(s.kind);
    parts.insert(s.part);
    if (s.kind == SpanKind::gemm) units[s.part].insert(s.unit);
    if (part_of.contains(s.name)) {
      EXPECT_EQ(s.part, part_of.at(s.name)) << s.name;
    }
  }
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(span_kinds));
  EXPECT_EQ(parts.size(), 6u);
  const std::set<std::string> blocks = {"block.0", "block.1"}, all = {"block.0", "block.1", "head"};
  EXPECT_EQ(units[StepPart::forward], all);
  EXPECT_EQ(units[StepPart::backward], all);
  EXPECT_EQ(units[StepPart::recompute], std::set<std::string>{"block.0"}) << "the last one's activations are there";
}

TEST_F(Profile, SpansLieInTheirStepsAndAddUpToTheWallTime) {
  const Trained t = train(true);
  ASSERT_EQ(t.recording.steps.size(), 2u);
  EXPECT_EQ(t.recording.steps[0].number, 2);
  EXPECT_LE(t.recording.steps[0].end, t.recording.steps[1].begin);
  constexpr double apart = 1e-3;
  for (const Span& s : t.recording.spans) {
    EXPECT_LE(s.begin, s.end) << s.name;
    EXPECT_GE(s.begin, -apart) << s.name;
    EXPECT_LE(s.end, t.recording.wall + apart) << s.name;
  }
  const Breakdown b = break_down(t.recording.spans, t.recording.wall);
  EXPECT_NEAR(b.gemm + b.attention + b.memory_bound + b.exposed_communication + b.host + b.idle, b.wall, 1e-9);
  EXPECT_GT(b.gemm, 0);
  EXPECT_GT(b.exposed_communication, 0);
}

}  // namespace
}  // namespace octet
