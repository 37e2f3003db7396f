// Damaged tuning files, thousands of them from fixed seeds: whatever is in a file, the plugin returns success, and a
// file that does not read is named and changes nothing.
#include <gtest/gtest.h>

#include <random>

#include "src/base/error.h"
#include "src/base/hex_text.h"
#include "src/tuning/tuning_file.h"
#include "tests/tuning/plugin/fake_world.h"

namespace octet {
namespace {

using namespace test;

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::string operator()(std::string text) {
    for (std::size_t edits = 1 + below(3); edits > 0; --edits) edit(text);
    return text;
  }

 private:
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  /// Begin and length of a word, number or sign somewhere.
  std::pair<std::size_t, std::size_t> token(const std::string& text) {
    const auto of_word = [&](std::size_t i) {
      return std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_' || text[i] == '.';
    };
    std::size_t begin = below(text.size()), end = begin + 1;
    if (!of_word(begin)) return {begin, 1};
    while (begin > 0 && of_word(begin - 1)) --begin;
    while (end < text.size() && of_word(end)) ++end;
    return {begin, end - begin};
  }

  void edit(std::string& text) {
    if (text.empty()) return;
    static const std::string words[] = {"0",
                                        "-1",
                                        "1e999",
                                        "-0.0",
                                        "9223372036854775807",
                                        "18446744073709551616",
                                        "null",
                                        "true",
                                        "{}",
                                        "[]",
                                        "[[[[[[[[",
                                        "\"\"",
                                        "NaN",
                                        "\"ring\"",
                                        "2.5",
                                        "\xff\xfe",
                                        "\"\\ud800\"",
                                        "%s%n",
                                        "1000000001"};
    const auto [at, length] = token(text);
    switch (below(7)) {
      case 0:
        text[at] = static_cast<char>(random_());
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.replace(at, length, words[below(std::size(words))]);
        break;
      case 3:
        text.resize(below(text.size()));
        break;
      case 4:
        text.insert(at, text.substr(below(text.size()), below(200)));
        break;
      case 5: {
        const auto [other, other_length] = token(text);
        text.replace(at, length, text.substr(other, other_length));
        break;
      }
      default:
        text.insert(at, below(2000), "[{\"7"[below(4)]);
    }
  }

  std::mt19937 random_;
};

std::string every_part() {
  TuningFile tuning = read_tuning_file(shipped("aws-p5-efa.json"));
  tuning.choices.resize(6);
  tuning.provenance.measurements.push_back({"all_reduce.txt", 31, hex_text(7)});
  tuning.constants.base_latency.push_back({Algorithm::tree, Protocol::ll, 7.5});
  tuning.constants.hw_latency.push_back({TunedLink::net, Algorithm::ring, Protocol::simple, 21.5});
  tuning.constants.bandwidth.push_back({TunedLimit::nvls_tree, TunedGeneration::hopper, 3, 33.5});
  TunedFit fit;
  fit.alpha_us = 100, fit.beta_gbs = 48, fit.rows = 12, fit.confidence = 1;
  tuning.fits.push_back(fit);
  return to_json(tuning);
}

/// Whether the file reads, by the reader itself.
bool reads(const std::string& text) {
  try {
    parse_tuning_file(text, "");
    return true;
  } catch (const Error&) {
    return false;
  }
}

class PluginFuzz : public testing::TestWithParam<int> {};

TEST_P(PluginFuzz, AWrongFileIsNamedAndChangesNothing) {
  constexpr int files = 1000;
  const int abi = GetParam();
  StandInNccl::set_version(22809);
  Folder folder;
  const Library plugin(OCTET_TUNER_PLUGIN);
  const StandInNccl nccl;
  Mutator mutate(static_cast<unsigned>(2026 + abi));
  const std::string good = every_part();
  ASSERT_TRUE(reads(good));
  int wrong = 0;
  for (int i = 0; i < files; ++i) {
    const std::string text = mutate(good), file = folder.file(text);
    const TuningFileSet set(file);
    tuner_abi::Constants constants = as_abi(default_constants(NcclVersion{}));
    const Tuner tuner(plugin, abi, 32, 4, nccl.logger(), &constants);  // throws where it does not return success
    const std::string log = nccl.lines();
    CostTable costs;
    costs.fill(5);
    costs[1] = -1;
    const bool good_still = reads(text);
    for (unsigned function = 0; function < 5; ++function) {
      for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 20, SIZE_MAX}) {
        const CostTable after = tuner.ask(function, bytes, costs);
        ASSERT_EQ(after[1], -1);
        if (!good_still) {
          ASSERT_EQ(after, costs) << file;
        }
      }
    }
    std::filesystem::remove(file);
    if (good_still) continue;
    ++wrong;
    ASSERT_EQ(log.rfind("WARN octet tuner: [tuning] " + file, 0), 0U) << log << text;
    ASSERT_EQ(tuner.context(), nullptr) << text;
    ASSERT_EQ(as_model(constants), default_constants(NcclVersion{})) << text;
  }
  EXPECT_GT(wrong, files / 2);
  EXPECT_LT(wrong, files) << "some mutations are of texts alone";
}

TEST_P(PluginFuzz, AFileOfNothingButBracketsIsNamed) {
  StandInNccl::set_version(22809);
  Folder folder;
  const Library plugin(OCTET_TUNER_PLUGIN);
  const StandInNccl nccl;
  const std::string brackets(1'000'000, '[');
  for (const std::string& text :
       {brackets + std::string(brackets.size(), ']'),
        R"({"octet_tuning":1,"cluster":)" + brackets + std::string(brackets.size(), ']') + "}"}) {
    const std::string file = folder.file(text);
    const TuningFileSet set(file);
    tuner_abi::Constants constants = as_abi(default_constants(NcclVersion{}));
    const Tuner tuner(plugin, GetParam(), 32, 4, nccl.logger(), &constants);
    EXPECT_EQ(tuner.context(), nullptr);
    EXPECT_NE(nccl.lines().find("nested deeper than"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(, PluginFuzz, testing::Values(4, 5, 6));

}  // namespace
}  // namespace octet
