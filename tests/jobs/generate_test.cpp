// octet generate, and octet-evaluate --generate, on a trained run: the same text in every layout and of every form of
// the model, what is refused, and what is printed where.
#include "tests/jobs/job.h"

namespace octet::test {
namespace {

CommandResult generate(const std::string& arguments) {
  return in_workplace(octet_tool + "generate " + arguments);
}

/// What is on standard output of a command that ended well.
std::string text_of(const CommandResult& r) {
  EXPECT_EQ(r.exit_code, 0) << r.all();
  return r.out;
}

TEST(Generate, WritesTheSameTextInEveryLayoutAndOfAnExport) {
  const std::string run = saved_run().directory, what = " --precision fp32 --prompt 'a text' --tokens 20";
  const CommandResult first = generate(run + what);
  const std::string text = text_of(first);
  EXPECT_GE(text.size(), 2u);
  EXPECT_EQ(text.back(), '\n');
  EXPECT_HAS(first.err, "prompt: 6 tokens in ");
  EXPECT_HAS(first.err, "generated: ");
  EXPECT_HAS(first.err, " tokens/s");
  EXPECT_EQ(text_of(in_workplace("mpiexec -n 2 " + octet_evaluate + run + what + " --tp 2 --generate")), text);
  EXPECT_EQ(text_of(in_workplace(octet_evaluate + run + what + " --generate")), text);
  ASSERT_EQ(in_workplace(octet_tool + "checkpoint export " + run + " to-generate").exit_code, 0);
  EXPECT_EQ(text_of(generate("to-generate --tokenizer bytes --window 32" + what)), text);
  write_bytes(workplace() / "prompt.txt", "a text");
  EXPECT_EQ(text_of(generate(run + " --precision fp32 --prompt-file prompt.txt --tokens 20")), text);
  EXPECT_EQ(text_of(generate(run + " --precision fp32 --prompt 'a text' --tokens 5")), text.substr(0, 5) + "\n");
}

TEST(Generate, TakesAPromptThatBeginsLikeAnOption) {
  const std::string run = saved_run().directory, what = " --precision fp32 --tokens 5 ";
  write_bytes(workplace() / "dashes.txt", "--a b");
  EXPECT_EQ(text_of(generate(run + what + "'--prompt=--a b'")),
            text_of(generate(run + what + "--prompt-file dashes.txt")));
}

TEST(Generate, EndsAtAnyTokenThatTheFolderNames) {
  const std::string folder = "ends-early";
  const std::string what =
      " --tokenizer bytes --window 32 --precision fp32 --prompt 'a text' --temperature 1 --top-p 0.9 --seed 1 ";
  ASSERT_EQ(in_workplace(octet_tool + "checkpoint export " + saved_run().directory + " " + folder).exit_code, 0);
  const std::string whole = text_of(generate(folder + what + "--tokens 20"));
  std::size_t at = 0;  // of a byte that is text by itself
  while (at < whole.size() && (whole[at] < ' ' || whole[at] > '~')) ++at;
  ASSERT_LT(at, whole.size()) << whole;
  write_bytes(workplace() / (folder + "/generation_config.json"),
              fmt::format("{{\"eos_token_id\": [255, {}]}}", static_cast<int>(whole[at])));
  const CommandResult r = generate(folder + what + "--tokens 20");
  EXPECT_EQ(text_of(r), whole.substr(0, at) + "\n");
  EXPECT_HAS(r.err, "and the end of the text");
}

TEST(Generate, InFloat8TakesTextsOfAnyLength) {
  const std::string run = saved_run().directory + " --precision float8 --prompt 'a text' --tokens ";
  const std::string text = text_of(generate(run + "13"));
  EXPECT_EQ(text_of(generate(run + "7")), text.substr(0, 7) + "\n");
  EXPECT_EQ(text_of(generate(run + "11 --float8.recipe rowwise")).size(), 12u);
}

TEST(Generate, DrawsBySeed) {
  const std::string drawn =
      saved_run().directory + " --prompt 'a text' --tokens 26 --temperature 2 --top-p 0.99 --seed ";
  const std::string text = text_of(generate(drawn + "1"));
  EXPECT_EQ(text_of(generate(drawn + "1")), text);
  EXPECT_NE(text_of(generate(drawn + "2")), text);
}

TEST(Generate, FillsTheWindowAndNoMore) {
  const std::string of_nothing = saved_run().directory + " --temperature 0.5 --tokens 500";
  EXPECT_LE(text_of(generate(of_nothing)).size(), 3u * 33u);  // EOS stands before: 32 tokens behind it
  EXPECT_HAS(generate(of_nothing).err, "prompt: 1 tokens");
  // Without chance, so that none ends the text. Nothing comes behind the last token: it need not be seen.
  const std::string likeliest = saved_run().directory + " --precision fp32 --tokens 500 --prompt ";
  EXPECT_HAS(generate(likeliest + "'a text'").err, "generated: 27 tokens, which fill the window");
  EXPECT_HAS(generate(likeliest + std::string(31, 'a')).err, "generated: 2 tokens, which fill the window");
}

TEST(Generate, RefusesInOneMessage) {
  const std::string run = saved_run().directory;
  const auto refused = [](const CommandResult& r, const std::string& message) {
    EXPECT_EQ(r.exit_code, 64) << r.all();
    EXPECT_EQ(r.out, "");
    EXPECT_HAS(r.err, message);
  };
  refused(generate(""), "what to work on is missing; usage: octet generate MODEL --prompt TEXT");
  refused(generate("nothing --prompt a"), "nothing: is no folder; expected that of a model");
  refused(generate(run + " --prompt " + std::string(32, 'a')), "the prompt has 32 tokens, and " + run);
  refused(generate(run + " 'Once upon'"),
          "\"Once upon\" is one word too many; usage: octet generate MODEL --prompt TEXT");
  refused(generate(run + " --prompt --x"),
          "the value of --prompt is missing, found --x; if that is the value, write '--prompt=--x'");
  refused(generate(run + " --prompt a --prompt-file b"), "--prompt and --prompt-file; expected one of them");
  refused(generate(run + " --prompt-file missing"),
          "missing: cannot be read: No such file or directory; expected a prompt");
  refused(in_workplace("mpiexec -n 2 " + octet_evaluate + run + " --tp 2 --generate --prompt-file runs"),
          "runs: cannot be read: Is a directory; expected a prompt");
  refused(generate(run + " --prompt a --top-p 0.5"), "--top-p changes nothing here: without --temperature");
  refused(generate(run + " --prompt a --top-p 0 --temperature 1"), "top-p");
  refused(generate(run + " --prompt a --float8.recipe rowwise"), "--float8.recipe changes nothing here");
  write_bytes(workplace() / "nul.txt", std::string("a\0b", 3));
  refused(generate(run + " --prompt-file nul.txt"), "byte 1 of the prompt, 0, is one that the tokenizer bytes");
  refused(in_workplace("mpiexec -n 2 " + octet_evaluate + run + " --generate --prompt a"),
          "--generate with 2 ranks and --tp 1: 2 groups would write the same text; expected --tp 2");
  refused(in_workplace(octet_evaluate + run + " --generate --prompt a --stride 4"), "--stride changes nothing here");
  refused(in_workplace(octet_evaluate + run + " --text a --prompt a"), "--prompt changes nothing here");
  refused(in_workplace(octet_evaluate + run + " --generate --text a"), "more than one thing to evaluate on");
}

TEST(Generate, IsExplained) {
  const CommandResult r = in_workplace(octet_tool + "help generate");
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_HAS(r.out, "usage: octet generate MODEL");
  EXPECT_HAS(r.out, "--temperature number");
}

}  // namespace
}  // namespace octet::test
