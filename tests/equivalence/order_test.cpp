// Collectives come in the same order on all ranks of a group, whatever the timing; and nothing reads gathered memory
// before it is gathered or after it was released.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/equivalence/harness.h"

namespace octet {
namespace {

class TracedTraining : public testing::Test {
 protected:
  static constexpr std::int64_t seq_len = 32, sequences_a_rank = 2;

  /// 3 ranks pad; what tp cuts divides by 4.
  static ModelConfig model() {
    ModelConfig m{.name = "order", .dim = 64, .layers = 3, .heads = 4, .kv_heads = 4, .ffn_dim = 128, .vocab_size = 76};
    m.finish();
    return m;
  }

  struct Outcome {
    std::vector<double> losses;
    std::vector<CommRecord> calls;
  };

  static Outcome train(const Harness::Options& options) {
    Harness h(model(), seq_len, options);
    h.sharded().initialize(3);
    h.communication.clear();
    std::vector<std::int32_t> tokens;
    for (std::int64_t i = 0; i < sequences_a_rank * seq_len * h.mesh().dp().size(); ++i) {
      tokens.push_back(static_cast<std::int32_t>(i * i % 71));
    }
    Outcome outcome;
    for (std::int64_t step = 1; step <= 2; ++step) {
      outcome.losses.push_back(h.forward_backward(tokens, tokens));
      h.sharded().finish_step(step, 1e-3);
    }
    outcome.calls = h.communication.records();
    return outcome;
  }

  /// The layouts of this program's ranks.
  static std::vector<Harness::Options> layouts() {
    const int ranks = world_size();
    std::vector<Harness::Options> all;
    for (const int tp : {1, 2, 4}) {
      for (const int replicas : {1, 2}) {
        if (ranks % (tp * replicas) != 0) continue;
        Harness::Options o;
        o.precision = Precision::float8;
        o.tp = tp;
        o.dp_replicate = replicas;
        all.push_back(o);
      }
    }
    return all;
  }

  /// Every rank's sequence of calls (groups of equal name have equal calls in all their instances).
  static bool same_on_all_ranks(const std::vector<CommRecord>& calls) {
    std::string text;
    for (const CommRecord& r : calls) {
      text += fmt::format("{} {} {} {} {}\n", r.operation, r.group, r.count, name_of(r.dtype), r.unit);
    }
    const auto stream = cpu_device().make_stream();
    const auto world = make_mpi_communicator(*stream, "compare");
    const auto mine = static_cast<std::int32_t>(std::hash<std::string>()(text));
    std::vector<std::int32_t> all(static_cast<std::size_t>(world->size()));
    world->all_gather(&mine, all.data(), 1, DType::i32);
    return std::equal(all.begin() + 1, all.end(), all.begin());
  }
};

using CollectiveOrder = TracedTraining;
using PoisonedGathers = TracedTraining;

TEST_F(CollectiveOrder, IsTheSameOnAllRanksAndInAllTimings) {
  for (Harness::Options o : layouts()) {
    SCOPED_TRACE(fmt::format("{} replicas, tp {}", o.dp_replicate, o.tp));
    const Outcome plain = train(o);
    EXPECT_TRUE(same_on_all_ranks(plain.calls));
    for (const std::uint64_t seed : {11, 12}) {
      o.delays = seed;
      const Outcome delayed = train(o);
      EXPECT_EQ(delayed.calls, plain.calls);
      EXPECT_EQ(delayed.losses, plain.losses);
    }
  }
}

TEST_F(PoisonedGathers, ChangeNoBit) {
  for (Harness::Options o : layouts()) {
    for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::float8}) {
      for (const Zero zero : {Zero::one, Zero::two, Zero::three}) {
        o.precision = precision;
        o.zero = zero;
        o.tp_keep_gathered = o.tp > 1 && zero != Zero::three;
        o.float8.all_gather = zero == Zero::two ? AutoBool::no : AutoBool::yes;
        SCOPED_TRACE(fmt::format("{} replicas, tp {}, {}, zero {}", o.dp_replicate, o.tp, name_of(precision), zero));
        o.poison = o.overlap = false;
        const Outcome plain = train(o);
        o.poison = o.overlap = true;
        const Outcome poisoned = train(o);
        EXPECT_EQ(poisoned.losses, plain.losses);
        EXPECT_TRUE(std::isfinite(plain.losses.back()));
      }
    }
  }
}

}  // namespace
}  // namespace octet
