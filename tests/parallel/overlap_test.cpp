// What a GPU is free to do at once: gathers beside the model's work, reductions beside the next unit's, and nothing
// that would meet a buffer which another still uses.
#include <algorithm>

#include "src/parallel/fsdp_gradients.h"
#include "src/parallel/fsdp_weights.h"
#include "tests/parallel/noted_communicator.h"
#include "tests/parallel/parallel_test.h"
#include "tests/parallel/recording_device.h"

namespace octet {
namespace {

/// Enough equal blocks that memory comes round.
ParameterList list_of_blocks() {
  ParameterList list;
  for (int unit = 0; unit < 6; ++unit) {
    const bool block = unit > 0 && unit < 5;
    list.units.push_back(block ? "layers." + std::to_string(unit - 1) : unit == 0 ? "embedding" : "head");
    list.add(
        {list.units.back() + ".weight", unit, {block ? 48 : 50, 8}, {}, {block ? 48 : 50, 8}, DType::bf16, 0.1, 3.0});
  }
  return list;
}

struct Overlap : test::ParallelTest {
  test::Recording recording;
  test::RecordingDevice device{recording};
  std::unique_ptr<Stream> compute = device.make_stream(), beside = device.make_stream();
  test::Noted group{world_->on_stream(*beside, "beside"), recording};

  Overlap() { use(list_of_blocks()); }
  std::string unit_name(int unit) const { return list_.units[static_cast<std::size_t>(unit)]; }
  int last(const std::string& name) const {
    const std::vector<int> found = recording.all(name);
    return found.empty() ? -1 : found.back();
  }
};

TEST_F(Overlap, AGatherRunsBesideTheUnitBeforeAndBehindTheOneThatHadItsMemory) {
  if (ranks_ == 1) GTEST_SKIP() << "one rank gathers nothing";
  ShardedBuffer master = buffer();
  WeightScales scales(list_, *layout_, cpu_device(), *stream_);
  FsdpWeights weights(list_, master, scales, group, *self_, *compute, {});
  const std::vector<int> pass{0, 1, 2, 3, 4, 5, 4, 3, 2, 1};
  weights.begin_pass(pass);
  std::vector<int> computed, gathered;  // by position in the pass
  for (std::size_t p = 0; p < pass.size(); ++p) {
    weights.gather(pass[p]);
    gathered.push_back(last("gather " + unit_name(pass[p])));
    computed.push_back(recording.work(*compute, "compute"));
    weights.release(pass[p]);
    EXPECT_TRUE(recording.precedes(gathered[p], computed[p])) << p;
  }
  for (std::size_t p = 1; p < pass.size(); ++p) {
    const auto earlier = gathered.begin() + static_cast<std::ptrdiff_t>(p);
    if (std::find(gathered.begin(), earlier, gathered[p]) != earlier) continue;  // still there
    EXPECT_LT(gathered[p], computed[p - 1]) << "issued late for position " << p;
    EXPECT_FALSE(recording.precedes(computed[p - 1], gathered[p])) << "the gather for position " << p << " waits";
    EXPECT_TRUE(p < 2 || recording.precedes(computed[p - 2], gathered[p])) << p;
  }
  weights.invalidate();
  const int optimizer = recording.work(*compute, "optimizer");
  weights.begin_pass(pass);
  weights.gather(0);
  EXPECT_TRUE(recording.precedes(optimizer, last("gather " + unit_name(0))));
  EXPECT_EQ(recording.count_host_waits(), 0);
}

TEST_F(Overlap, AReductionRunsBesideTheNextUnitAndItsMemoryIsNotUsedBefore) {
  if (ranks_ == 1) GTEST_SKIP() << "one rank reduces nothing";
  for (const FsdpOptions& options : {FsdpOptions{}, FsdpOptions{.gradient_wire = DType::bf16},
                                     FsdpOptions{.gradient_wire = DType::bf16, .gemm_gradient_dtype = DType::bf16}}) {
    ShardedBuffer shards = buffer();
    FsdpGradients sink(list_, shards, group, *self_, *self_, *compute, options);
    sink.begin_step(1);
    const int units = static_cast<int>(list_.units.size());
    std::vector<int> written, reduced;
    std::vector<void*> memory;
    for (int unit = units - 1; unit >= 0; --unit) {
      const auto targets = sink.open(unit);
      memory.push_back(targets.front().tensor.data);
      std::ranges::fill_n(static_cast<float*>(memory.back()), targets.front().tensor.elements(), 0.0f);
      written.push_back(recording.work(*compute, "write"));
      sink.close(unit);
      reduced.push_back(last("reduce " + unit_name(unit)));
      EXPECT_TRUE(recording.precedes(written.back(), reduced.back())) << unit;
    }
    bool reused = false;
    for (std::size_t p = 1; p < written.size(); ++p) {
      EXPECT_FALSE(recording.precedes(reduced[p - 1], written[p])) << "the model waits for the reduction before " << p;
      for (std::size_t before = 0; before < p; ++before) {
        if (memory[before] != memory[p]) continue;
        reused = true;
        EXPECT_TRUE(recording.precedes(reduced[before], written[p]))
            << p << " writes what " << before << " still sends";
      }
    }
    EXPECT_TRUE(reused);
    sink.finish_step();
    const int optimizer = recording.work(*compute, "optimizer");
    for (const int r : reduced) EXPECT_TRUE(recording.precedes(r, optimizer));
  }
  EXPECT_EQ(recording.count_host_waits(), 0);
}

}  // namespace
}  // namespace octet
