// octet-evaluate on a trained run: what it prints and writes, in every layout and of every form of the model.
#include <fcntl.h>
#include <sys/file.h>

#include "src/base/files.h"
#include "tests/jobs/job.h"

namespace octet::test {
namespace {

CommandResult evaluate(const std::string& arguments, int ranks = 1) {
  return in_workplace((ranks > 1 ? fmt::format("mpiexec -n {} ", ranks) : "") + octet_evaluate + arguments);
}

/// results.json of a run of the program that ended well.
nlohmann::json results(const std::string& arguments, int ranks = 1) {
  static int number = 0;
  const std::string folder = fmt::format("evaluated/{}", ++number);
  const CommandResult r = evaluate(arguments + " --output " + folder, ranks);
  EXPECT_EQ(r.exit_code, 0) << r.all();
  return nlohmann::json::parse(read_bytes(workplace() / (folder + "/results.json")));
}

/// Ten documents, of which no window takes a whole one.
std::string held_out() {
  std::string lines;
  const std::string text = simple_text();
  for (std::size_t d = 0; d < 10; ++d) {
    lines += nlohmann::json{{"text", text.substr(d * 1000, 100 + d * 13)}}.dump() + "\n";
  }
  write_bytes(workplace() / "held-out.jsonl", lines);
  return "held-out.jsonl";
}

double loss_of(const nlohmann::json& json) {
  return json["results"].begin().value()["loss"];
}

TEST(Evaluate, TextsAndTokenFilesOfThemGiveTheSameNumbers) {
  const std::string run = saved_run().directory, text = held_out();
  const CommandResult prepared =
      in_workplace(OCTET_BIN_DIR "/octet prepare --input " + text + " --output data/held-out");
  ASSERT_EQ(prepared.exit_code, 0) << prepared.all();
  const nlohmann::json of_text = results(run + " --precision fp32 --text " + text);
  const nlohmann::json of_data = results(run + " --precision fp32 --data data/held-out");
  EXPECT_EQ(of_text["results"]["text"], of_data["results"]["data"]);
  const nlohmann::json& r = of_text["results"]["text"];
  EXPECT_EQ(r["documents"], 10);
  EXPECT_EQ(r["tokens"], r["bytes"]);  // the tokenizer is that of bytes
  EXPECT_LT(r["loss"], 4.0);           // it has learnt something
  EXPECT_NEAR(r["perplexity"].get<double>(), std::exp(r["loss"].get<double>()), 1e-9);
  EXPECT_NEAR(r["bits_per_byte"].get<double>(), r["loss"].get<double>() / std::log(2.0), 1e-9);
  EXPECT_LT(r["loss_interval"][0], r["loss"]);
  EXPECT_GT(r["loss_interval"][1], r["loss"]);
}

TEST(Evaluate, EveryLayoutAndExportGivesTheSameNumbers) {
  const std::string run = saved_run().directory, text = " --precision fp32 --text " + held_out();
  const CommandResult exported = in_workplace(OCTET_BIN_DIR "/octet checkpoint export " + run + " for-evaluation");
  ASSERT_EQ(exported.exit_code, 0) << exported.all();
  const double loss = loss_of(results(run + text));
  EXPECT_NEAR(loss_of(results(run + text, 2)), loss, 1e-12);
  EXPECT_NEAR(loss_of(results(run + text + " --tp 2", 2)), loss, 1e-5);
  EXPECT_NEAR(loss_of(results(run + text + " --tp 2 --row-tokens 32", 4)), loss, 1e-5);
  EXPECT_NEAR(loss_of(results("for-evaluation --tokenizer bytes" + text)), loss, 1e-12);
  EXPECT_GT(std::abs(loss_of(results(run + text + " --stride 8")) - loss), 1e-4);  // other tokens are seen
}

// HDF5 would ask for a lock that somebody has, or that the file system does not know.
TEST(Evaluate, TakesNoLocksWhateverTheEnvironmentSays) {
  const std::string run = saved_run().directory;
  std::vector<FileHandle> locked;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(workplace() / (run + "/checkpoints"))) {
    if (entry.path().extension() != ".h5") continue;
    const FileHandle& file = locked.emplace_back(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::flock(file.get(), LOCK_EX | LOCK_NB), 0);
  }
  ASSERT_FALSE(locked.empty());
  const CommandResult r =
      in_workplace("env HDF5_USE_FILE_LOCKING=TRUE " + octet_evaluate + run + " --precision fp32 --text " + held_out());
  EXPECT_EQ(r.exit_code, 0) << r.all();
}

// A model may see far more than texts are long: no row is as long as that, and none sees less than a text.
TEST(Evaluate, RowsAreNoLongerThanTheTextsNeed) {
  const std::string text = saved_run().directory + " --precision fp32 --text " + held_out();
  const auto memory = [&](const std::string& window) {
    const CommandResult r = evaluate(text + " --window " + window);
    EXPECT_EQ(r.exit_code, 0) << r.all();
    const std::size_t at = r.err.find("memory: ");
    return r.err.substr(at, r.err.find('\n', at) - at);
  };
  EXPECT_HAS(memory("100000"), "memory: ");
  EXPECT_EQ(memory("100000"), memory("512"));
  const double loss = loss_of(results(text + " --window 512"));
  EXPECT_NEAR(loss_of(results(text + " --window 100000")), loss, 1e-6);
  EXPECT_NEAR(loss_of(results(text + " --window 100000 --stride 90000")), loss, 1e-6);
  EXPECT_NEAR(loss_of(results(text + " --window 100000 --documents 3 --row-tokens 100000")),
              loss_of(results(text + " --window 512 --documents 3")), 1e-6);
}

// The ids that begin and end texts are in config.json; how many bytes a token stands for is not.
TEST(Evaluate, AFolderWithoutATokenizerTakesTokenFiles) {
  const std::string run = saved_run().directory, text = held_out();
  const CommandResult made = in_workplace("sh -c '" OCTET_BIN_DIR "/octet checkpoint export " + run +
                                          " without-tokenizer && " OCTET_BIN_DIR "/octet prepare --input " + text +
                                          " --output data/foreign && rm data/foreign.data.json'");
  ASSERT_EQ(made.exit_code, 0) << made.all();
  const nlohmann::json json = results("without-tokenizer --precision fp32 --data data/foreign")["results"]["data"];
  EXPECT_TRUE(json["bits_per_byte"].is_null());
  EXPECT_NEAR(json["loss"].get<double>(), loss_of(results(run + " --precision fp32 --text " + text)), 1e-12);
}

TEST(Evaluate, ComparesAModelWithItselfAndInAnotherPrecision) {
  const std::string run = saved_run().directory, text = " --text " + held_out();
  const nlohmann::json same = results(run + text + " --compare " + run);
  EXPECT_EQ(same["difference"]["loss"], 0.0);
  EXPECT_EQ(same["difference"]["loss_interval"], nlohmann::json({0.0, 0.0}));
  const nlohmann::json other = results(run + text + " --precision float8 --compare-precision bf16 --compare " + run);
  EXPECT_NE(other["difference"]["loss"], 0.0);
  EXPECT_NEAR(other["difference"]["loss"].get<double>(), loss_of(other) - loss_of(other["compare"]), 1e-9);
}

// What was written of each document, from which a script computes the difference and its intervals again.
TEST(Evaluate, WritesTheDocumentsOfBothModels) {
  const std::string folder = workplace() / "evaluated/both-texts";
  const CommandResult r =
      evaluate(saved_run().directory + " --precision fp32 --bootstrap 200 --seed 7 --text " + held_out() +
               " --compare-precision bf16 --compare " + saved_run().directory + " --output evaluated/both-texts");
  ASSERT_EQ(r.exit_code, 0) << r.all();
  EXPECT_HAS(r.err, "written: evaluated/both-texts/results.json, evaluated/both-texts/compare/documents.jsonl");
  const std::string first = read_bytes(folder + "/documents.jsonl"),
                    other = read_bytes(folder + "/compare/documents.jsonl");
  EXPECT_EQ(std::ranges::count(other, '\n'), 10);
  EXPECT_NE(first, other);
  const CommandResult again =
      run_command("python3 " OCTET_SOURCE_DIR "/tests/evaluate/paired_differences.py " + folder);
  EXPECT_EQ(again.exit_code, 0) << again.all();
  EXPECT_EQ(again.out, "2\n");
}

/// An export of the trained run, which sees so many tokens at once.
std::string exported(std::int64_t window) {
  std::string folder = fmt::format("sees-{}", window);
  if (std::filesystem::exists(workplace() / folder)) return folder;
  const CommandResult r = in_workplace(fmt::format("{}/octet checkpoint export {} {} --max-positions {}", OCTET_BIN_DIR,
                                                   saved_run().directory, folder, window));
  EXPECT_EQ(r.exit_code, 0) << r.all();
  return folder;
}

TEST(Evaluate, WhatIsWrongWithTheOtherModelIsFoundFirst) {
  const std::string with = saved_run().directory + " --text " + held_out() + " --tokenizer bytes --compare ";
  const auto refused = [&](const std::string& arguments, const std::string& message, int ranks = 1) {
    const CommandResult r = evaluate(with + arguments, ranks);
    EXPECT_EQ(r.exit_code, 64) << r.all();
    EXPECT_EQ(r.out, "") << "a model was evaluated";
    EXPECT_EQ(occurrences(r.err, message), 1) << r.err;
  };
  refused("nothing", "nothing: is no folder; expected that of a model", 2);
  refused(exported(16) + " --stride 20", "--stride is 20; expected at most the window of 16 tokens of " + exported(16));
  refused(exported(600) + " --row-tokens 64", "--row-tokens is 64; expected at least the window of 600 tokens");
  refused(exported(16) + " --compare-precision float8 --float8.delayed_margin 1", "has no effect with float8.recipe");
  const CommandResult r = evaluate(saved_run().directory + " --text " + held_out() + " --compare " + exported(16));
  EXPECT_EQ(r.exit_code, 64) << r.all();
  EXPECT_EQ(r.out, "");
  EXPECT_HAS(r.err, exported(16) + ": its tokenizer is not known; give --tokenizer bytes, if its 256 ids are bytes");
}

TEST(Evaluate, TheFirstModelsResultsAreThereWhereTheOtherCannotBeRead) {
  const std::string broken = exported(32);
  for (const auto& file : std::filesystem::directory_iterator(workplace() / broken)) {
    if (file.path().extension() == ".safetensors") std::filesystem::resize_file(file, file.file_size() - 1);
  }
  const CommandResult r = evaluate(saved_run().directory + " --tokenizer bytes --text " + held_out() + " --compare " +
                                   broken + " --output evaluated/first");
  EXPECT_NE(r.exit_code, 0);
  EXPECT_HAS(r.err, ".safetensors");
  const auto json = nlohmann::json::parse(read_bytes(workplace() / "evaluated/first/results.json"));
  EXPECT_EQ(json["results"]["text"]["documents"], 10);
  EXPECT_FALSE(json.contains("compare"));
  std::filesystem::remove_all(workplace() / broken);
}

TEST(Evaluate, SaysOnceThatTheOtherModelSeesAnotherWindow) {
  const std::string with = saved_run().directory + " --tokenizer bytes --text " + held_out() + " --compare ";
  const std::string warned = "the models see 32 and 16 tokens at once: the difference is that of their windows too";
  EXPECT_EQ(occurrences(evaluate(with + exported(16), 2).err, warned), 1);
  EXPECT_EQ(occurrences(evaluate(with + exported(16) + " --window 16").err, "the models see"), 0);
}

TEST(Evaluate, SaysWhatStandsBeforeADocument) {
  const CommandResult r = evaluate(saved_run().directory + " --text " + held_out() + " --output evaluated/before");
  EXPECT_HAS(r.out, "before each    EOS, as there is no BOS, id 0\n");
  const auto json = nlohmann::json::parse(read_bytes(workplace() / "evaluated/before/results.json"));
  EXPECT_EQ(json["before_each_document"], nlohmann::json({{"token", "eos"}, {"id", 0}}));
}

// One option of float8 leaves the others as the run was trained with.
TEST(Evaluate, OptionsOfFloat8GoOntoThoseOfTheRun) {
  const TrainedRun run = train(1,
                               "--checkpoint.interval auto --precision float8 --float8.recipe rowwise "
                               "--float8.bf16_linears attention.wo --train.steps 5");
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  const std::string in_float8 = run.directory + " --precision float8 --text " + held_out();
  const auto model = [&](const std::string& options) {
    const std::string out = evaluate(in_float8 + options).out;
    return out.substr(0, out.find('\n'));
  };
  EXPECT_HAS(model(""), " parameters, float8 rowwise, bf16_linears [attention.wo], window 32");
  EXPECT_HAS(model(" --float8.accumulate hopper"),
             " parameters, float8 rowwise, accumulate hopper, bf16_linears [attention.wo], window 32");
  EXPECT_HAS(model(" --float8.recipe tensorwise --float8.bf16_linears []"), " parameters, float8 tensorwise, window");
  const auto loss = [&](const std::string& options) { return loss_of(results(in_float8 + options)); };
  EXPECT_EQ(loss(" --float8.accumulate fp32"), loss(""));
  EXPECT_NE(loss(" --float8.bf16_linears []"), loss(""));
}

// The limits that docs/evaluation.md states, of a trained model that is wide enough for every recipe.
TEST(Evaluate, LowPrecisionsStayNearFp32) {
  write_bytes(workplace() / "blocks.yaml",
              "dim: 128\nlayers: 2\nheads: 4\nkv_heads: 4\nhead_dim: 32\nffn_dim: 256\nvocab_size: 256\n");
  const TrainedRun run = train(1, "--model ./blocks.yaml --checkpoint.interval auto");
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  const std::string with = run.directory + " --text " + held_out() + " --compare-precision fp32 --compare " +
                           run.directory + " --precision ";
  const auto change = [&](const std::string& precision) {
    const double loss = results(with + precision)["difference"]["loss"];
    EXPECT_NE(loss, 0.0) << precision;
    return loss;
  };
  EXPECT_LT(results(run.directory + " --precision fp32 --text " + held_out())["results"]["text"]["loss"], 3.0);
  EXPECT_LT(std::abs(change("bf16")), 1e-3);
  std::map<std::string, double> of;
  for (const char* recipe : {"tensorwise", "rowwise", "rowwise_with_gw_hp", "delayed", "blockwise"}) {
    of[recipe] = change(std::string("float8 --float8.recipe ") + recipe);
    EXPECT_LT(std::abs(of[recipe]), 5e-3) << recipe;
  }
  EXPECT_EQ(of["rowwise_with_gw_hp"], of["rowwise"]) << "they differ in what is backward";
  EXPECT_EQ(of["delayed"], of["tensorwise"]) << "no step was before";
  for (const auto& [one, other] :
       {std::pair{"tensorwise", "rowwise"}, {"rowwise", "blockwise"}, {"blockwise", "tensorwise"}}) {
    EXPECT_NE(of[one], of[other]) << one << " and " << other;
  }
  const std::string in_float8 = run.directory + " --precision float8 --text " + held_out();
  const double loss = loss_of(results(in_float8));
  EXPECT_NEAR(loss_of(results(in_float8, 2)), loss, 1e-5);
  EXPECT_NEAR(loss_of(results(in_float8 + " --tp 2", 2)), loss, 1e-3);
}

TEST(Evaluate, DocumentsAddUpToTheWhole) {
  const CommandResult r =
      evaluate(saved_run().directory + " --documents 4 --text " + held_out() + " --output evaluated/documents");
  ASSERT_EQ(r.exit_code, 0) << r.all();
  EXPECT_HAS(r.out, "bits per byte");
  EXPECT_HAS(r.err, "tokens/s; memory: ");
  const nlohmann::json json = nlohmann::json::parse(read_bytes(workplace() / "evaluated/documents/results.json"));
  std::istringstream lines(read_bytes(workplace() / "evaluated/documents/documents.jsonl"));
  double sum = 0, tokens = 0;
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto document = nlohmann::json::parse(line);
    EXPECT_EQ(document["doc_id"], count);
    sum -= document["log_likelihood"].get<double>();
    tokens += document["tokens"].get<double>();
  }
  EXPECT_EQ(count, 4);
  EXPECT_NEAR(sum / tokens, loss_of(json), 1e-12);
}

TEST(Evaluate, RefusesInOneMessage) {
  const std::string run = saved_run().directory, text = held_out();
  const auto refused = [](const std::string& arguments, const std::string& message) {
    const CommandResult r = evaluate(arguments);
    EXPECT_EQ(r.exit_code, 64) << r.all();
    EXPECT_HAS(r.err, message);
    EXPECT_EQ(occurrences(r.err, " E "), 1) << r.err;
  };
  refused("nothing --text " + text, "nothing: is no folder; expected that of a model");
  refused("data --text " + text, "data: is no model; expected a checkpoint, a run that has one");
  refused(run, "nothing to evaluate on; expected one of --data, --text, --tasks and --generate");
  refused(run + " --text " + text + " --data data/text", "expected one of --data, --text, --tasks and --generate");
  refused(run + " " + run + " --text " + text,
          fmt::format("two models, {0} and {0}, expected one; another to compare with is that of --compare", run));
  refused(run + " --data data/text --control-tokens", "--control-tokens changes nothing here: it is for --text");
  write_bytes(workplace() / "empty.txt", "");
  refused(run + " --text empty.txt", "empty.txt: has no text");
  refused(run + " --text " + text + " --output empty.txt", "--output empty.txt: is no folder; expected one");
  refused(run + " --text " + text + " --output empty.txt/below", "empty.txt/below: cannot be made: ");
  refused(run + " --text missing.txt", "input missing.txt: cannot be read: No such file");
  write_bytes(workplace() / "lines.jsonl", "{\"text\": \"a line\"}\n");
  refused(run + " --text lines.jsonl --max-document 8", "lines.jsonl: line 1: is longer than --max-document 8 B");
  refused(run + " --text " + text + " --stride 33", "--stride is 33; expected at most the window of 32 tokens");
  refused(run + " --text " + text + " --row-tokens 8", "--row-tokens is 8; expected at least the window of 32 tokens");
  refused(run + " --text " + text + " --row-tokens 200 --precision float8 --float8.recipe blockwise",
          "--row-tokens is 200; expected a multiple of 128, as --precision float8 and --tp 1 want");
  refused(run + " --text " + text + " --precision float8 --float8.fast_accumulate all",
          "--float8.fast_accumulate: float8.fast_accumulate = all: has no effect");
  refused(run + " --text " + text + " --tp 2", "--tp 2: the job has 1 ranks, expected a divisor");
  refused(run + " --text " + text + " --float8.recipe rowwise", "--float8.recipe changes nothing here");
  write_tokens(workplace() / "data/too-high", 2000, TokenType::i32, [](std::int64_t i) { return i == 1500 ? 300 : 7; });
  refused(run + " --data data/too-high",
          "--data: data/too-high.bin: its largest token id is 300, at position 1500 of 2000");
  { TokenFileWriter(workplace() / "data/empty", TokenType::u8).finish(); }
  refused(run + " --data data/empty", "data/empty.bin: has no documents");
  for (const std::string option : {"--field", "--max-document"}) {
    refused(fmt::format("{} --data data/text {} 9", run, option), option + " changes nothing here: it is for --text");
  }
}

TEST(Evaluate, HelpNamesExitCodes) {
  const CommandResult r = evaluate("-h");
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.out, evaluate("--help").out);
  EXPECT_HAS(r.out, "Usage: mpiexec -n N octet-evaluate MODEL");
  EXPECT_HAS(r.out, "Exit codes: 0; 64");
  EXPECT_HAS(r.out, "[default same]");
}

}  // namespace
}  // namespace octet::test
