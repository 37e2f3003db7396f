// The token that ends documents is what `octet prepare --eos-token` was told, wherever the run or its data are read.
#include "tests/jobs/saved.h"

namespace octet::test {
namespace {

const std::string golden = OCTET_SOURCE_DIR "/tests/tokenizer/golden/";
const std::string document = "the water was here";

CommandResult done(const std::string& command) {
  CommandResult r = in_workplace(command);
  if (r.exit_code != 0) throw std::runtime_error(command + ": " + r.all());
  return r;
}

/// One document many times, so that a tiny model soon knows where it ends.
void write_documents() {
  std::string lines;
  for (int i = 0; i < 600; ++i) lines += "{\"text\": \"" + document + "\"}\n";
  write_bytes(workplace() / "end/documents.jsonl", lines);
  std::string model = tiny_model;
  model.replace(model.find("256"), 3, "576");
  write_bytes(workplace() / "end.yaml", model);
}

std::string prepared(const std::string& tokenizer, const std::string& end, const std::string& name,
                     const std::string& more = "") {
  write_documents();
  done(octet_tool + "prepare --input end/documents.jsonl --tokenizer " + tokenizer + " --eos-token '" + end + "' " +
       more + " --overwrite --output data/" + name);
  return "data/" + name;
}

std::string train_words(const std::string& data) {
  return "--model ./end.yaml --train.steps 60 --optimizer.lr 1e-2 --checkpoint.interval 60 --data.train " + data;
}

nlohmann::json results(const std::string& words, const std::string& out) {
  done(octet_evaluate + words + " --precision fp32 --documents 40 --output evaluated/" + out);
  return nlohmann::json::parse(read_bytes(workplace() / ("evaluated/" + out + "/results.json")))["results"];
}

void expect_all_read_the_end(const std::string& run, const std::string& data, const std::string& end) {
  const std::string name =
      std::filesystem::path(data).filename().string() + "-" + std::filesystem::path(run).filename().string();
  const auto by_data = results(run + " --data " + data, name + "-data")["data"];
  const auto by_text = results(run + " --text end/documents.jsonl", name + "-text")["text"];
  EXPECT_EQ(by_data, by_text);
  EXPECT_EQ(by_data["bytes"], 40 * document.size());
  const std::string generate = octet_tool + "generate " + run + " --precision fp32 --tokens 20";
  const CommandResult behind = done(generate + " --prompt 'the water was'");
  EXPECT_EQ(behind.out, " here\n");
  EXPECT_HAS(behind.err, "and the end of the text");
  EXPECT_EQ(done(generate).out, document + "\n");
  EXPECT_HAS(done(octet_tool + "inspect " + data + " --documents 1").out, document + end);
}

TEST(EndToken, OfARankFileIsKnownWhereverTheRunIsRead) {
  const std::string data = prepared(golden + "ranks-512.tiktoken", "</s>", "end-ranks");
  const TrainedRun run = train(1, train_words(data));
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  expect_all_read_the_end(run.directory, data, "</s>");
  // An export has the token's id alone; the data name it.
  done(octet_tool + "checkpoint export " + run.directory + " end-exported");
  const std::string generate = " --precision fp32 --tokens 20";
  EXPECT_EQ(done(octet_tool + "generate end-exported" + generate).out, document + "\n");
  EXPECT_EQ(results("end-exported --text end/documents.jsonl", "end-export-text"),
            results(run.directory + " --text end/documents.jsonl", "end-run-text"));
  EXPECT_EQ(results("end-exported --data " + data, "end-of-export"),
            results(run.directory + " --data " + data, "end-of-run"));
  const std::string resumed = new_run_directory();
  done(octet_tool + "checkpoint import end-exported " + resumed + "/checkpoints/step-000000");
  const TrainedRun further = train_in(resumed, 1, train_words(data));
  ASSERT_EQ(further.result.exit_code, 0) << further.result.all();
  expect_all_read_the_end(resumed, data, "</s>");
}

TEST(EndToken, OfATokenizerJsonThatDoesNotSayItIsKnownToo) {
  std::string json = read_bytes(golden + "bpe-512.json");
  for (std::size_t at = 0; (at = json.find("<|end_of_text|>", at)) != std::string::npos;)
    json.replace(at, 15, "<|fin|>");
  for (std::size_t at = 0; (at = json.find("<|begin_of_text|>", at)) != std::string::npos;)
    json.replace(at, 17, "<|start|>");
  auto parsed = nlohmann::ordered_json::parse(json);
  parsed["post_processor"] = nullptr;
  write_bytes(workplace() / "end/own/tokenizer.json", parsed.dump());
  const std::string data = prepared("end/own", "<|fin|>", "end-own");
  const TrainedRun run = train(1, train_words(data));
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  expect_all_read_the_end(run.directory, data, "<|fin|>");
}

TEST(EndToken, TwoOfThemInOneRunAreRefused) {
  const std::string other = prepared(golden + "bpe-512.json", "<|end_of_text|>", "end-two");
  const std::string third = prepared(golden + "bpe-512.json", "<|begin_of_text|>", "end-three");
  const TrainedRun refused = train(1, train_words("'[" + other + "," + third + "]'"));
  EXPECT_EQ(refused.result.exit_code, 64) << refused.result.all();
  EXPECT_HAS(refused.result.err, "the documents of data/end-two.bin end with <|end_of_text|> (id ");
  EXPECT_HAS(refused.result.err, "those of data/end-three.bin with <|begin_of_text|> (id ");
}

TEST(EndToken, DocumentsWithOneAndWithoutInOneRunAreRefused) {
  const std::string with = prepared(golden + "bpe-512.json", "<|end_of_text|>", "end-with");
  const std::string without = prepared(golden + "bpe-512.json", "<|end_of_text|>", "end-without", "--no-eos");
  const TrainedRun refused = train(1, train_words("'[" + with + "," + without + "]'"));
  EXPECT_EQ(refused.result.exit_code, 64) << refused.result.all();
  EXPECT_HAS(refused.result.err, "the documents of data/end-with.bin end with <|end_of_text|> (id ");
  EXPECT_HAS(refused.result.err, "those of data/end-without.bin with no token; a run reads documents of one form");
}

}  // namespace
}  // namespace octet::test
