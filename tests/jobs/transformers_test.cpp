// A trained model, exported, gives the same loss in Hugging Face's transformers as here.
#include "src/data/sampler.h"
#include "tests/jobs/job.h"

namespace octet::test {
namespace {

/// Python with transformers: OCTET_PYTHON, or the one in the path.
std::string python() {
  const char* chosen = std::getenv("OCTET_PYTHON");
  return chosen == nullptr ? "python3" : chosen;
}

/// The windows on which run.yaml's validation is measured.
nlohmann::json validation_windows() {
  constexpr std::int64_t seq_len = 32, global_batch = 12, batches = 2;  // as run_file says
  const Sampler sampler({{workplace() / "data/text", 1.0}}, {.seq_len = seq_len,
                                                             .global_batch = global_batch,
                                                             .vocab_size = 256,
                                                             .seed = 1,
                                                             .validation_fraction = DataConfig{}.validation_fraction});
  auto windows = nlohmann::json::array();
  std::vector<std::int32_t> tokens;
  const std::int64_t samples = std::min(batches * global_batch, sampler.order().validation_samples());
  for (std::int64_t v = 0; v < samples; ++v) {
    sampler.read_window(sampler.order().validation(v), tokens);
    windows.push_back(tokens);
  }
  return windows;
}

TEST(Transformers, GivesTheSameLossOnTheSameTokens) {
  if (run_command(python() + " -c 'import torch, transformers'", 300).exit_code != 0) {
    GTEST_SKIP() << python() << " has no transformers (pip install torch transformers; OCTET_PYTHON names another)";
  }
  const TrainedRun& run = finished(1, "--checkpoint.interval auto");
  const std::string folder = workplace() / "exported", tokens = workplace() / "validation.json";
  write_bytes(tokens, validation_windows().dump());
  const CommandResult exported =
      in_workplace(OCTET_BIN_DIR "/octet checkpoint export " + run.directory + " " + folder + " --max-shard-size 40KB");
  ASSERT_EQ(exported.exit_code, 0) << exported.all();
  const double loss = run.losses("validation_loss").back();
  const CommandResult compared =
      run_command(fmt::format("{} " OCTET_SOURCE_DIR "/tests/checkpoints/load_with_transformers.py {} {} {:.17g}",
                              python(), folder, tokens, loss),
                  300);
  EXPECT_EQ(compared.exit_code, 0) << compared.all();
  EXPECT_HAS(compared.out, "relative difference");
  RecordProperty("comparison", compared.out);
}

}  // namespace
}  // namespace octet::test
