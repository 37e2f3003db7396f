// A trained model, exported, gives the same loss in Hugging Face's transformers as here.
#include "src/data/sampler.h"
#include "src/tokenizer/make_tokenizer.h"
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
    sampler.read_window(sampler.order().validation_sample(v), tokens);
    windows.push_back(tokens);
  }
  return windows;
}

bool has_transformers() {
  static const bool has = run_command(python() + " -c 'import torch, transformers'", 300).exit_code == 0;
  return has;
}

#define SKIP_WITHOUT_TRANSFORMERS() \
  if (!has_transformers())          \
  GTEST_SKIP() << python() << " has no transformers (pip install torch transformers; OCTET_PYTHON names another)"

TEST(Transformers, GivesTheSameLossOnTheSameTokens) {
  SKIP_WITHOUT_TRANSFORMERS();
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

TEST(Transformers, LoadsTheTokenizerBesideTheWeights) {
  SKIP_WITHOUT_TRANSFORMERS();
  const std::string octet = OCTET_BIN_DIR "/octet ", json = "tokenizer-400.json";
  const CommandResult made =
      in_workplace("bash -c '" + octet + "tokenizer train --input text --vocab-size 400 --output " + json + " && " +
                   octet + "prepare --input text --tokenizer " + json + " --output data/bpe'");
  ASSERT_EQ(made.exit_code, 0) << made.all();
  std::string model = tiny_model;
  model.replace(model.find("256"), 3, "400");
  write_bytes(workplace() / "bpe.yaml", model);
  const TrainedRun run = train(1, "--model ./bpe.yaml --data.train data/bpe --train.steps 2 --checkpoint.interval 2");
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  const CommandResult exported = in_workplace(octet + "checkpoint export " + run.directory + " exported-bpe");
  ASSERT_EQ(exported.exit_code, 0) << exported.all();

  const std::string text = simple_text().substr(0, 3000) + "\n  \u00e9t\u00e9, 1234567 'll\n";
  const auto tokenizer = make_tokenizer(workplace() / json);
  const TokenizerInfo& info = tokenizer->info();
  std::vector<std::int32_t> ids, last = {*info.eos};
  if (info.adds_bos) ids.push_back(*info.bos);
  tokenizer->make_encoder()->encode(text, ids);
  if (info.adds_eos) ids.push_back(*info.eos);
  write_bytes(workplace() / "sample.txt", text);
  write_bytes(workplace() / "sample.json", nlohmann::json(ids).dump());
  const CommandResult compared = run_command(
      fmt::format("cd {} && {} " OCTET_SOURCE_DIR
                  "/tests/checkpoints/tokenize_with_transformers.py exported-bpe sample.txt sample.json '{}'",
                  workplace().path(), python(), tokenizer->decode(last)),
      300);
  EXPECT_EQ(compared.exit_code, 0) << compared.all();
  EXPECT_HAS(compared.out, "ids agree");
  RecordProperty("comparison", compared.out);
}

}  // namespace
}  // namespace octet::test
