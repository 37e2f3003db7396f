// Many ranks of one machine, each a writer of its own: 16, or 64 with --long.
#include "tests/jobs/saved.h"

namespace octet::test {
namespace {

std::string line_with(const std::string& text, const std::string& part) {
  const auto at = text.find(part);
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

TEST(ManyWriters, SaveAndGoOn) {
  const int ranks = is_long() ? 64 : 16;
  const std::string same = fmt::format(
      "--train.global_batch {} --train.micro_batch 1 --train.validation_batches 1 --checkpoint.interval 1000000 ",
      ranks);
  const TrainedRun whole = train(ranks, same + "--train.steps 4");
  ASSERT_EQ(whole.result.exit_code, 0) << whole.result.all();
  TrainedRun run = train(ranks, same + "--train.steps 2");
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  const checkpoint::Manifest manifest = checkpoint::read_manifest(checkpoints_of(run).front());
  EXPECT_EQ(manifest.files.size(), static_cast<std::size_t>(ranks));
  const std::string saved = line_with(run.result.err, "checkpoint of step 2 by phase: ");
  for (const char* phase : {" s snapshot, ", " s write, fsync and hash (", " s of it reading back), ", " s manifest, ",
                            " s agreement and commit"}) {
    EXPECT_HAS(saved, phase);
  }

  run = train_in(run.directory, ranks, same + "--train.steps 4");
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  const std::string loaded = line_with(run.result.err, "checkpoint of step 2 by phase: ");
  for (const char* phase : {" s choice, ", " s hash, ", " s read"}) EXPECT_HAS(loaded, phase);
  EXPECT_EQ(run.losses(), whole.losses());
  expect_same_tensors(checkpoints_of(run).front(), checkpoints_of(whole).front());
  std::printf("%d writers: %s\n%d readers: %s\n", ranks, saved.c_str(), ranks, loaded.c_str());
}

}  // namespace
}  // namespace octet::test
