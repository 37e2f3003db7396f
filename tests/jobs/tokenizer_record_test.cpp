// Which tokenizer made a run's data: refused where it does not fit, kept in the run, its checkpoints and exports.
#include <cmath>
#include <numbers>

#include "src/data/token_writer.h"
#include "src/data/tokenizer_identity.h"
#include "tests/jobs/saved.h"

namespace octet::test {
namespace {

const std::string four_steps = "--train.steps 4 --train.micro_batch 1 --checkpoint.interval 4 ";
const std::string tokenizer_file = "{\"made\": \"up\"}";

/// data/NAME of 8,000 tokens that stand for 20,000 bytes, with the file of its tokenizer beside it.
std::string prepared(const std::string& name, std::int64_t vocab_size) {
  TokenFileWriter writer(workplace() / ("data/" + name), TokenType::u16,
                         {.overwrite = true,
                          .tokenizer = TokenizerIdentity{.kind = TokenizerKind::bpe,
                                                         .file = "own.json",
                                                         .fingerprint = tokenizer_fingerprint(tokenizer_file),
                                                         .vocab_size = vocab_size,
                                                         .bos = std::nullopt,
                                                         .eos = vocab_size - 1,
                                                         .special = {{"<|end|>", vocab_size - 1}}}});
  std::vector<std::int32_t> ids(8000);
  for (std::int32_t i = 0; i < 8000; ++i) ids[static_cast<std::size_t>(i)] = i * i % 200;
  writer.append(ids);
  writer.count_text(20'000);
  writer.end_document();
  writer.finish();
  write_bytes(workplace() / ("data/" + name + ".tokenizer.json"), tokenizer_file);
  return "--data.train data/" + name;
}

TEST(TokenizerRecord, GoesIntoTheRunItsCheckpointsAndExports) {
  const TrainedRun run = train(2, four_steps + prepared("own", 250));
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  EXPECT_HAS(run.result.err, "data: made with the tokenizer bpe own.json (");
  EXPECT_EQ(read_bytes(run.file("tokenizer/tokenizer.json")), tokenizer_file);
  EXPECT_HAS(read_bytes(run.file("tokenizer/identity.json")), "\"eos\": 249");
  EXPECT_HAS(checkpoint::read_manifest(checkpoints_of(run).front()).state.config, "own.json");

  const auto last = run.metrics().back();
  EXPECT_NEAR(last.at("validation_bits_per_byte").get<double>(),
              last.at("validation_loss").get<double>() / std::numbers::ln2 / 2.5, 1e-5);

  const auto exported = [&](const std::string& folder) {
    return in_workplace(OCTET_BIN_DIR "/octet checkpoint export " + run.directory + " " + folder);
  };
  const CommandResult whole = exported("export-own");
  ASSERT_EQ(whole.exit_code, 0) << whole.all();
  EXPECT_EQ(read_bytes(workplace() / "export-own/tokenizer.json"), tokenizer_file);
  EXPECT_HAS(read_bytes(workplace() / "export-own/config.json"), "\"eos_token_id\": 249");
  EXPECT_HAS(read_bytes(workplace() / "export-own/config.json"), "\"bos_token_id\": null");
  EXPECT_HAS(read_bytes(workplace() / "export-own/generation_config.json"), "\"eos_token_id\": 249");
  EXPECT_HAS(read_bytes(workplace() / "export-own/tokenizer_config.json"), "\"eos_token\": \"<|end|>\"");
  EXPECT_EQ(read_bytes(workplace() / "export-own/tokenizer_config.json").find("bos_token"), std::string::npos);
  write_bytes(run.file("tokenizer/tokenizer.json"), "{}");
  const CommandResult without = exported("export-without");
  ASSERT_EQ(without.exit_code, 0) << without.all();
  EXPECT_HAS(without.err, "tokenizer.json is of another one: the file of the tokenizer bpe own.json");
  EXPECT_FALSE(std::filesystem::exists(workplace() / "export-without/tokenizer.json"));
}

TEST(TokenizerRecord, BytesHaveNoFileAndTheirLossInBitsToo) {
  const TrainedRun& run = finished(2, four_steps);
  EXPECT_FALSE(run.has("tokenizer/tokenizer.json"));
  EXPECT_HAS(read_bytes(run.file("tokenizer/identity.json")), "\"kind\": \"bytes\"");
  EXPECT_TRUE(run.metrics().back().contains("validation_bits_per_byte"));
}

TEST(TokenizerRecord, DataOfAnotherTokenizerAreRefusedAtTheStart) {
  const std::string own = prepared("own", 250), large = prepared("large", 300);
  const auto refused = [&](const std::string& arguments, const std::string& reason) {
    const TrainedRun run = train(2, four_steps + arguments);
    EXPECT_EQ(run.result.exit_code, 64) << run.result.all();
    EXPECT_HAS(run.result.err, reason);
    EXPECT_FALSE(run.has("tokenizer"));
  };
  refused(large, "and the model's vocab_size is 256; expected a model of 300 ids at least");
  refused("--data.train [data/own,data/text]", "text.bin with bytes (256 ids); a run reads data of one tokenizer");
  std::filesystem::remove(workplace() / "data/own.data.json");
  const TrainedRun unknown = train(2, four_steps + own);
  ASSERT_EQ(unknown.result.exit_code, 0) << unknown.result.all();
  EXPECT_HAS(unknown.result.err, "own.bin: no .data.json beside the files says which tokenizer made them");
  EXPECT_FALSE(unknown.metrics().back().contains("validation_bits_per_byte"));
}

}  // namespace
}  // namespace octet::test
