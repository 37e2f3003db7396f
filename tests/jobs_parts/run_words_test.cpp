// The words of octet-train's command line, as they become a configuration or are refused.
#include <cstdint>
#include <string>
#include <vector>

#include "jobs/run/command_line.h"
#include "jobs/train/answers.h"
#include "src/run_config/options/run_options.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_parts.h"

namespace octet {
namespace {

using test::error_of;
using test::expect_parts;

CommandLine parse_words(const std::vector<std::string>& words) {
  std::vector<const char*> argv = {"octet-train"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  return parse_command_line(static_cast<int>(argv.size()), argv.data());
}

TEST(CommandLine, WrongCommandLines) {
  const std::string run = OCTET_SOURCE_DIR "/configs/runs/english-5m.yaml";
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> table = {
      {{}, {"command line: model is missing"}},
      {{"none.yaml"}, {"none.yaml: cannot be read: No such file or directory; expected a YAML file"}},
      {{run, "--optimizer.lrr", "1"}, {"unknown option --optimizer.lrr", "nearest: --optimizer.lr"}},
      {{run, "--checkpoint.intervall", "1"}, {"unknown option --checkpoint.intervall", "--checkpoint.interval"}},
      {{run, "--checkpoint.interval", "soon"}, {"command line: checkpoint.interval = \"soon\"", "\"off\", \"auto\""}},
      {{run, "--train.max_wall_time", "2h"}, {"command line: train.max_wall_time = \"2h\"", "23:50:00"}},
      {{run, "--train.steps", "1", "--train.steps", "2"}, {"--train.steps is given twice"}},
      {{run, "--parallel.reshard_after_forward", "never", "--parallel.zero", "3"},
       {"--parallel.reshard_after_forward and --parallel.zero are one option", "expected --parallel.zero alone"}},
      {{run, "--optimizer.lr", "nan"}, {"command line: --optimizer.lr = \"nan\"", "finite number"}},
      {{run, "--train.steps", "99"}, {"schedule.decay_steps = 100", "20", "100", "train.steps = 99", ".yaml:"}},
      {{run, "--train.global_batch", "7"}, {"command line: train.global_batch = 7", "micro_batch = 2"}},
      {{run, "--precision", "float8", "--train.seq_len=100"}, {"command line: precision = float8", "m = 200 (tokens"}},
      {{run, "--help", "--print-config"}, {"--help and --print-config together"}},
  };
  for (const auto& [words, parts] : table) {
    SCOPED_TRACE(words.empty() ? "" : words.back());
    expect_parts(error_of([&, w = words] { parse_words(w); }), parts);
  }
}

TEST(CommandLine, AsksForTheConfigurationOrForARun) {
  const std::string run = OCTET_SOURCE_DIR "/configs/runs/english-5m.yaml";
  const CommandLine printed = parse_words({run, "--print-config", "--run.seed=18446744073709551615"});
  EXPECT_EQ(printed.action, CommandLine::Action::print_config);
  EXPECT_EQ(printed.config_file, run);
  EXPECT_EQ(printed.origins.at("run.seed"), "command line");
  EXPECT_EQ(printed.config.seed, UINT64_MAX);
  EXPECT_EQ(answer(printed), to_yaml(printed.config));
  EXPECT_EQ(parse_words({run}).action, CommandLine::Action::run);
}

TEST(CommandLine, HelpNamesEveryOption) {
  RunConfig config;
  Schema schema;
  declare_options(schema, config);
  const std::string help = answer(parse_words({"--help", "all"}));
  for (const Option& option : schema.options()) {
    EXPECT_NE(help.find("--" + option.name() + " "), std::string::npos) << option.name();
    EXPECT_FALSE(option.help_text().empty()) << option.name();
  }
}

}  // namespace
}  // namespace octet
