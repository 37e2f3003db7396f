// The tokenizer of a Hugging Face folder goes with its weights: into imported checkpoints, runs that begin with them,
// and exports of both, and evaluation finds it there.
#include "tests/jobs/saved.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

const std::string tokenizer_file = OCTET_SOURCE_DIR "/tests/tokenizer/golden/bpe-512.json";
const std::string two_steps = "--model ./wide-tokens.yaml --train.steps 2 --checkpoint.interval 2 --data.train ";

CommandResult done(const std::string& command) {
  CommandResult r = in_workplace(command);
  if (r.exit_code != 0) throw std::runtime_error(command + ": " + r.all());
  return r;
}

std::string path_of(const std::string& path) {
  return workplace() / path;
}

/// A folder as others make them: with more beside the weights than our exports have, and several ids that end a text.
const std::string& foreign_folder() {
  static const std::string name = [] {
    std::string model = tiny_model;
    model.replace(model.find("256"), 3, "512");
    write_bytes(path_of("wide-tokens.yaml"), model);
    done(octet_tool + "prepare --input text --tokenizer " + tokenizer_file + " --output data/wide");
    const TrainedRun run = train(1, two_steps + "data/wide");
    if (run.result.exit_code != 0) throw std::runtime_error(run.result.all());
    done(octet_tool + "checkpoint export " + run.directory + " folder");
    auto config = nlohmann::ordered_json::parse(read_bytes(path_of("folder/config.json")));
    config["bos_token_id"] = 5;
    config["eos_token_id"] = {6, 7};
    for (const char* key : {"dtype", "torch_dtype"}) config.erase(key);  // to where exports have them
    config["pad_token_id"] = 9;
    for (const char* key : {"dtype", "torch_dtype"}) config[key] = "float32";
    write_bytes(path_of("folder/config.json"), config.dump(2) + "\n");
    write_bytes(path_of("folder/generation_config.json"), R"({"eos_token_id": [6, 7, 8], "top_p": 0.9})");
    write_bytes(path_of("folder/special_tokens_map.json"), R"({"eos_token": "<|end_of_text|>"})");
    write_bytes(path_of("folder/chat_template.jinja"), "{{ messages }}");
    write_bytes(path_of("folder/README.md"), "no part of the model");
    return std::string("folder");
  }();
  return name;
}

const std::string& imported() {
  static const std::string name = [] {
    const CommandResult r = done(octet_tool + "checkpoint import " + foreign_folder() + " imported --writers 2");
    EXPECT_HAS(r.all(), "kept beside the weights: tokenizer.json, tokenizer_config.json, special_tokens_map.json");
    return std::string("imported");
  }();
  return name;
}

void expect_same_file(const std::string& a, const std::string& b, const std::string& name) {
  ASSERT_TRUE(fs::exists(path_of(b + "/" + name))) << name;
  EXPECT_EQ(read_bytes(path_of(a + "/" + name)), read_bytes(path_of(b + "/" + name))) << name;
}

TEST(KeptTokenizer, GoesThroughACheckpointAndBackToTheByte) {
  done(octet_tool + "checkpoint export " + imported() + " again");
  for (const auto& entry : fs::directory_iterator(path_of(foreign_folder()))) {
    const std::string name = entry.path().filename().string();
    if (name != "README.md") expect_same_file(foreign_folder(), "again", name);
  }
  EXPECT_FALSE(fs::exists(path_of("again/README.md")));
  EXPECT_FALSE(fs::exists(path_of("again/hugging_face_config.json")));
  done(octet_tool + "checkpoint reshard " + imported() + " resharded --writers 3");
  done(octet_tool + "checkpoint export resharded of-resharded");
  expect_same_file(foreign_folder(), "of-resharded", "tokenizer.json");
  EXPECT_HAS(done(octet_tool + "checkpoint show " + imported()).out, "format 2");
}

TEST(KeptTokenizer, IsFoundByEvaluationAndGeneration) {
  const auto result = [](const std::string& model) {
    const std::string out = "evaluated/kept-" + model;
    done(octet_evaluate + model + " --precision fp32 --documents 3 --text text/simple.txt --output " + out);
    return nlohmann::json::parse(read_bytes(path_of(out + "/results.json")))["results"]["text"];
  };
  EXPECT_EQ(result(imported()), result(foreign_folder()));
  const std::string text = " --precision fp32 --tokens 12 --prompt 'the water'";
  EXPECT_EQ(done(octet_tool + "generate " + imported() + text).out,
            done(octet_tool + "generate " + foreign_folder() + text).out);
  const CommandResult other = in_workplace(octet_tool + "generate " + imported() + text + " --tokenizer bytes");
  EXPECT_EQ(other.exit_code, 64);
  EXPECT_HAS(other.err, "bytes: is another tokenizer than bpe tokenizer.json");
}

TEST(KeptTokenizer, SaysWhetherBosStandsBeforeContexts) {
  write_bytes(path_of("bos.jsonl"), R"({"q": "the water", "choices": [" was", " is"], "gold": 0})"
                                    "\n");
  write_bytes(path_of("bos.yaml"), "name: bos\npath: bos.jsonl\ncontext: q\nchoices: choices\ngold: gold\n");
  const std::string tasks = " --precision fp32 --tasks bos.yaml --output evaluated/bos-";
  EXPECT_HAS(done(octet_evaluate + foreign_folder() + tasks + "with").out, "BOS            0 before each context\n");
  done("cp -r " + foreign_folder() + " without-bos");
  auto json = nlohmann::ordered_json::parse(read_bytes(path_of("without-bos/tokenizer.json")));
  json["post_processor"] = nullptr;
  write_bytes(path_of("without-bos/tokenizer.json"), json.dump());
  EXPECT_HAS(done(octet_evaluate + "without-bos" + tasks + "without").out,
             "BOS            none, as the tokenizer's file has it\n");
  const auto likelihood = [](const std::string& name) {
    return nlohmann::json::parse(read_bytes(path_of("evaluated/bos-" + name + "/samples_bos.jsonl")))["loglikelihoods"];
  };
  EXPECT_NE(likelihood("with"), likelihood("without"));  // what is printed is what was done
}

// In a folder, whose data nobody knows, the given one takes the place of its own, which is said.
TEST(KeptTokenizer, OfAFolderIsSetAsideForAGivenOneThatFits) {
  const std::string text =
      octet_tool + "generate " + foreign_folder() + " --precision fp32 --tokens 3 --prompt 'the water'";
  EXPECT_HAS(done(text + " --tokenizer bytes").err,
             "tokenizer: bytes (bytes, 256 ids), as --tokenizer says; folder, that of the model, is set aside");
  EXPECT_EQ(done(text).err.find("set aside"), std::string::npos);
  const CommandResult wide =
      in_workplace(text + " --tokenizer " OCTET_SOURCE_DIR "/tests/tokenizer/golden/bpe-4096.json");
  EXPECT_EQ(wide.exit_code, 64);
  EXPECT_HAS(wide.err, "the tokenizer has 4096 ids, and the model folder has 512");
}

TEST(KeptTokenizer, DataOfAnotherTokenizerAreRefused) {
  for (const std::string& model : {foreign_folder(), imported()}) {
    const CommandResult other = in_workplace(octet_evaluate + model + " --data data/text");
    EXPECT_EQ(other.exit_code, 64) << other.all();
    EXPECT_HAS(other.err, "data/text: was made with bytes");
  }
}

TEST(KeptTokenizer, ARankFileHasANameThatAllReadersKnow) {
  std::string model = tiny_model;
  model.replace(model.find("256"), 3, "1024");
  write_bytes(path_of("ranks.yaml"), model);
  const std::string ranks = OCTET_SOURCE_DIR "/tests/tokenizer/golden/ranks-512.tiktoken";
  done(octet_tool + "prepare --input text --tokenizer " + ranks + " --no-eos --output data/ranks");
  const TrainedRun run =
      train(1, "--model ./ranks.yaml --train.steps 2 --checkpoint.interval 2 --data.train data/ranks");
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  done(octet_tool + "checkpoint export " + run.directory + " with-ranks");
  EXPECT_EQ(read_bytes(path_of("with-ranks/tokenizer.model")), read_bytes(ranks));
  done(octet_tool + "generate with-ranks --tokens 3 --prompt 'the water'");
  done(octet_tool + "checkpoint import with-ranks ranks-imported");
  done(octet_tool + "checkpoint export ranks-imported ranks-again");
  expect_same_file("with-ranks", "ranks-again", "tokenizer.model");
}

TEST(KeptTokenizer, ADamagedFileIsNotUsed) {
  done("cp -r " + imported() + " damaged");
  write_bytes(path_of("damaged/tokenizer.json"), "{}");
  const CommandResult exported = in_workplace(octet_tool + "checkpoint export damaged of-damaged");
  EXPECT_EQ(exported.exit_code, 64);
  EXPECT_HAS(exported.err, "damaged/tokenizer.json: has 2 bytes, expected ");
  const CommandResult generated = in_workplace(octet_tool + "generate damaged --prompt a");
  EXPECT_EQ(generated.exit_code, 64);
  EXPECT_HAS(generated.err, "is damaged and was not used");
}

/// A run that begins with the weights of the folder keeps what stands beside its tokenizer; how texts end is what the
/// run's data say.
TEST(KeptTokenizer, GoesWithARunThatBeginsWithTheWeights) {
  const TrainedRun direct = train(1, two_steps + "data/wide --init.from " + foreign_folder());
  ASSERT_EQ(direct.result.exit_code, 0) << direct.result.all();
  const std::string resumed = new_run_directory();
  done(octet_tool + "checkpoint import " + foreign_folder() + " " + resumed + "/checkpoints/step-000000");
  const TrainedRun second = train_in(resumed, 1, two_steps + "data/wide");
  ASSERT_EQ(second.result.exit_code, 0) << second.result.all();
  // And on to a run that begins with the weights of that run, or of a checkpoint of it.
  const TrainedRun third = train(1, two_steps + "data/wide --init.from " + direct.directory);
  ASSERT_EQ(third.result.exit_code, 0) << third.result.all();
  const TrainedRun fourth = train(1, two_steps + "data/wide --init.from " + checkpoints_of(third).front());
  ASSERT_EQ(fourth.result.exit_code, 0) << fourth.result.all();
  for (const TrainedRun& run : {direct, second, third, fourth}) {
    const std::string out = run.directory + "-exported";
    const CommandResult exported = done(fmt::format("{}checkpoint export {} {}", octet_tool, run.directory, out));
    EXPECT_HAS(exported.err, "step-000002");
    for (const char* name : {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"}) {
      expect_same_file(foreign_folder(), out, name);
    }
    expect_same_file(foreign_folder(), out, "chat_template.jinja");
    const auto config = nlohmann::json::parse(read_bytes(path_of(out + "/config.json")));
    const auto identity = nlohmann::json::parse(read_bytes(run.file("tokenizer/identity.json")));
    EXPECT_EQ(config["eos_token_id"], identity["eos"]);
    EXPECT_TRUE(identity["eos"].is_number());
  }
}

/// A run with data of the tokenizer, which keeps what stands beside it.
const TrainedRun& begun_with_the_weights() {
  static const TrainedRun made = train(1, two_steps + "data/wide --init.from " + foreign_folder());
  if (made.result.exit_code != 0) throw std::runtime_error(made.result.all());
  return made;
}

// The run is two folders above where the checkpoint stands, whatever the path to it says.
TEST(KeptTokenizer, IsFoundThroughALinkAndFromInside) {
  const std::string there = checkpoints_of(begun_with_the_weights()).front();
  fs::create_directory_symlink(there, path_of("link"));
  done(octet_tool + "checkpoint export link of-link");
  expect_same_file(foreign_folder(), "of-link", "tokenizer.json");
  done(octet_tool + "generate link --tokens 3 --prompt 'the water'");
  const CommandResult inside =
      run_command("cd " + there + " && " + octet_tool + "checkpoint export . " + path_of("of-inside"));
  ASSERT_EQ(inside.exit_code, 0) << inside.all();
  expect_same_file(foreign_folder(), "of-inside", "tokenizer.json");
  // One that is kept elsewhere, and linked into its run.
  const std::string run = new_run_directory();
  fs::copy(path_of(begun_with_the_weights().directory), path_of(run), fs::copy_options::recursive);
  const std::string name = fs::path(there).filename().string(), linked = run + "/checkpoints/" + name;
  fs::create_directories(path_of("store"));
  fs::rename(path_of(linked), path_of("store/" + name));
  fs::create_directory_symlink(path_of("store/" + name), path_of(linked));
  done(octet_tool + "checkpoint export " + linked + " of-linked");
  expect_same_file(foreign_folder(), "of-linked", "tokenizer.json");
}

TEST(KeptTokenizer, OfAnArchiveIsGiven) {
  done(octet_tool + "checkpoint reshard " + begun_with_the_weights().directory + " archive/step-000002 --writers 1");
  const std::string export_to = octet_tool + "checkpoint export archive/step-000002 of-archive";
  EXPECT_HAS(done(export_to + "-alone").err, "is not exported; --tokenizer names it elsewhere");
  EXPECT_FALSE(fs::exists(path_of("of-archive-alone/tokenizer.json")));
  const std::string kept = begun_with_the_weights().directory + "/tokenizer";
  int number = 0;
  for (const std::string& given : {kept, kept + "/tokenizer.json", foreign_folder()}) {
    const std::string end = fmt::format("-{}", ++number);
    done(fmt::format("{}{} --tokenizer {}", export_to, end, given));
    expect_same_file(foreign_folder(), "of-archive" + end, "tokenizer.json");
    expect_same_file(foreign_folder(), "of-archive" + end, "chat_template.jinja");
  }
  const std::string another = OCTET_SOURCE_DIR "/tests/tokenizer/golden/bpe-4096.json";
  for (const auto& [given, what] : {std::pair(another, "bpe-4096.json is of another one; expected the file of the "),
                                    {"text", "text/tokenizer.json is not there"}}) {
    const CommandResult refused = in_workplace(fmt::format("{} --tokenizer {}", export_to, given));
    EXPECT_EQ(refused.exit_code, 64) << refused.all();
    EXPECT_HAS(refused.err, what);
  }
  const CommandResult own = in_workplace(octet_tool + "checkpoint export " + imported() + " none --tokenizer " + kept);
  EXPECT_EQ(own.exit_code, 64) << own.all();
  EXPECT_HAS(own.err, "imported keeps what the folder had that it was imported from; leave it out");
}

TEST(KeptTokenizer, GoesWithACopyOfACheckpointAsItsOriginHasIt) {
  const std::string there = checkpoints_of(begun_with_the_weights()).front(), branch = new_run_directory();
  fs::create_directories(path_of(branch + "/checkpoints"));
  fs::copy(there, path_of(branch + "/checkpoints/" + fs::path(there).filename().string()), fs::copy_options::recursive);
  const TrainedRun on = train_in(branch, 1, "--model ./wide-tokens.yaml --train.steps 3 --data.train data/wide");
  ASSERT_EQ(on.result.exit_code, 0) << on.result.all();
  for (const char* name : {"tokenizer.json", "chat_template.jinja", "special_tokens_map.json", "tokenizer_config.json"})
    expect_same_file(foreign_folder(), branch + "/tokenizer", name);
}

TEST(KeptTokenizer, ThatEndsTextsOtherwiseThanTheDataIsWarnedOf) {
  const std::string run = new_run_directory();
  fs::copy(path_of(begun_with_the_weights().directory), path_of(run), fs::copy_options::recursive);
  const auto identity = nlohmann::json::parse(read_bytes(path_of(run + "/tokenizer/identity.json")));
  const auto export_with = [&](const nlohmann::json& token, const std::string& to) {
    write_bytes(path_of(run + "/tokenizer/tokenizer_config.json"), nlohmann::json{{"eos_token", token}}.dump());
    return done(octet_tool + "checkpoint export " + run + " " + to).err;
  };
  std::string other, same;
  for (const auto& [name, id] : identity["special"].items()) (id == identity["eos"] ? same : other) = name;
  ASSERT_FALSE(other.empty() || same.empty());
  const std::string its = "its eos_token is " + other + " (id ", of_data = "run's data end with " + same + " (id ";
  for (const nlohmann::json& token : {nlohmann::json(other), nlohmann::json{{"content", other}}}) {
    const std::string text = export_with(token, token.is_string() ? "other-end" : "other-end-object");
    EXPECT_EQ(occurrences(text, its), 1) << text;
    EXPECT_HAS(text, of_data);
  }
  EXPECT_EQ(export_with(same, "same-end").find("its eos_token"), std::string::npos);
}

TEST(KeptTokenizer, ThatARunOfSilentDataCannotKeepItIsOneWarning) {
  for (const char* end : {".bin", ".idx"})
    fs::copy(path_of(std::string("data/wide") + end), path_of(std::string("data/mute") + end));
  const TrainedRun run = train(1, two_steps + "data/mute --init.from " + foreign_folder());
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  EXPECT_EQ(occurrences(run.result.err, "init.from = folder: has a tokenizer, and the data do not say theirs"), 1);
  EXPECT_FALSE(run.has("tokenizer"));
  EXPECT_EQ(train(1, two_steps + "data/wide --init.from " + foreign_folder()).result.err.find("has a tokenizer"),
            std::string::npos);
}

TEST(KeptTokenizer, ARunGoesOnFromAnImportWithDataOfItsTokenizerAlone) {
  const std::string run = new_run_directory();
  done(octet_tool + "checkpoint import " + foreign_folder() + " " + run + "/checkpoints/step-000000");
  const TrainedRun refused = train_in(run, 1, two_steps + "data/text");
  EXPECT_EQ(refused.result.exit_code, 64) << refused.result.all();
  EXPECT_HAS(refused.result.err, "step-000000: the data were made with the tokenizer bpe tokenizer.json");
  // Of data that do not say it, it is taken from the weights.
  for (const char* end : {".bin", ".idx"})
    fs::copy(path_of(std::string("data/wide") + end), path_of(std::string("data/silent") + end));
  const TrainedRun silent = train_in(run, 1, two_steps + "data/silent");
  ASSERT_EQ(silent.result.exit_code, 0) << silent.result.all();
  EXPECT_EQ(read_bytes(silent.file("tokenizer/tokenizer.json")), read_bytes(tokenizer_file));
}

TEST(KeptTokenizer, OneThatIsNotUnderstoodIsKeptWithAWarning) {
  done("cp -r " + foreign_folder() + " strange");
  write_bytes(path_of("strange/tokenizer.json"), R"({"model": {"type": "WordPiece"}})");
  const CommandResult r = done(octet_tool + "checkpoint import strange of-strange");
  EXPECT_HAS(r.err, "its files are kept, and no other tokenizer will be refused");
  done(octet_tool + "checkpoint export of-strange strange-again");
  expect_same_file("strange", "strange-again", "tokenizer.json");
  expect_same_file("strange", "strange-again", "config.json");
}

}  // namespace
}  // namespace octet::test
