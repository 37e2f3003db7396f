// Weights are read unit by unit out of files that stay open.
#include "src/train/step/load_masters.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/checkpoints/directory.h"
#include "tests/checkpoints/open_events.h"
#include "tests/checkpoints/small_checkpoint.h"

namespace octet {
namespace {

TEST(LoadMasters, OpensAFileOnceForAllUnits) {
  const checkpoint::test::TemporaryDirectory root;
  const std::string directory = root / "c";
  const checkpoint::test::Values values = checkpoint::test::write_small(directory, 9);
  const checkpoint::Manifest manifest = checkpoint::read_manifest(directory);
  checkpoint::test::OpenEvents events(directory + "/" + checkpoint::file_name(1));

  const auto stream = cpu_device().make_stream();
  Staging staging(*stream);
  {
    CheckpointSource source{directory, manifest, nullptr};
    for (const checkpoint::StoredTensor& t : checkpoint::model_tensors(checkpoint::test::small_model())) {
      ParameterList unit;
      unit.parameters.push_back({.name = t.name, .global = t.shape, .shape = t.shape});
      const ShardLayout layout(unit, 0, 1);
      const ShardedBuffer masters(layout, cpu_device(), *stream, Purpose::parameters);
      load_masters(unit, masters, source, staging);
      const std::vector<float>& expected = values.at("master/" + t.name);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), masters.data(0))) << t.name;
    }
    EXPECT_EQ(events.take(), "o");
  }
  EXPECT_EQ(events.take(), "c");
}

}  // namespace
}  // namespace octet
