// What octet-evaluate finds in folders that it did not write so: in that of --output, and in that of a model.
#include "tests/jobs/job.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

CommandResult evaluate(const std::string& model, const std::string& arguments) {
  return in_workplace(octet_evaluate + model + " --documents 2 --text text/simple.txt " + arguments);
}

// Members that would be merged with what comes. All is refused before a model is evaluated.
TEST(EvaluateFolder, AnOddResultsFileIsRefusedFirst) {
  const std::string folder = workplace() / "evaluated/odd", output = "--output evaluated/odd",
                    path = "evaluated/odd/results.json: ";
  const auto refused = [&](const std::string& results, const std::string& message) {
    write_bytes(folder + "/results.json", results);
    const CommandResult r = evaluate(saved_run().directory, output);
    EXPECT_EQ(r.exit_code, 64) << r.all();
    EXPECT_EQ(r.out, "") << "a model was evaluated";
    EXPECT_EQ(occurrences(r.err, path + message), 1) << r.err;
    EXPECT_EQ(read_bytes(folder + "/results.json"), results);
  };
  refused(std::string(200'000, '['), "nested deeper than 32; expected less");
  refused("{\"evaluation\": {}", "no valid JSON; expected results of octet-evaluate, another folder in --output, or");
  refused(R"({"evaluation": {}, "evaluation": {}})", "the key \"evaluation\" stands twice in one object");
  for (const char* member :
       {"results", "groups", "n-shot", "n-samples", "bootstrap", "before_each_document", "compare", "difference"}) {
    refused(fmt::format(R"({{"evaluation": {{}}, "{}": []}})", member),
            fmt::format("{} is no object, as octet-evaluate writes it; expected another folder in --output, or "
                        "--overwrite",
                        member));
  }
  refused(R"({"evaluation": {}, "results": {"text": 7}})", "results.text is no object");
  refused(R"({"evaluation": {}, "compare": {"n-samples": {"a": 7}}})", "compare.n-samples.a is no object");
  refused(R"({"evaluation": {}, "difference": {"text": 7}})", "difference.text is no object");
  const CommandResult r = evaluate(saved_run().directory, output + " --overwrite");
  EXPECT_EQ(r.exit_code, 0) << r.all();
  // Keys keep their order, and what nothing comes for stays.
  auto written = nlohmann::ordered_json::parse(read_bytes(folder + "/results.json"));
  written["z"] = written["a"] = "of the user";
  write_bytes(folder + "/results.json", written.dump());
  ASSERT_EQ(evaluate(saved_run().directory, output).exit_code, 0);
  auto again = nlohmann::ordered_json::parse(read_bytes(folder + "/results.json"));
  for (auto* json : {&written, &again}) json->erase("tokens_per_second");
  EXPECT_EQ(again.dump(), written.dump());
}

// JSON has no text that is not UTF-8: what can be named so in results is found before, or spelled otherwise.
TEST(EvaluateFolder, NamesThatAreNoUtf8CostNoResult) {
  const std::string folder = "named-\xFF", plain = "named-plain";
  ASSERT_EQ(in_workplace(octet_tool + "checkpoint export " + saved_run().directory + " " + plain).exit_code, 0);
  fs::copy(workplace() / plain, workplace() / folder);
  for (const std::string& models : {folder, saved_run().directory + " --compare " + folder}) {
    const CommandResult r = evaluate(models, "--tokenizer bytes --output evaluated/named");
    EXPECT_EQ(r.exit_code, 64) << r.all();
    EXPECT_EQ(r.out, "") << "a model was evaluated";
    EXPECT_HAS(r.err, "the byte 0xff is not UTF-8, expected text, also in the names of files");
  }
  write_bytes(workplace() / (plain + "/x\xFF.json"), "{}");
  const CommandResult r = evaluate(plain, "--tokenizer bytes --output evaluated/named");
  EXPECT_EQ(r.exit_code, 0) << r.all();
  const auto json = nlohmann::json::parse(read_bytes(workplace() / "evaluated/named/results.json"));
  EXPECT_TRUE(json["evaluation"]["model"]["files"].contains("x\\xff.json")) << json;
}

}  // namespace
}  // namespace octet::test
