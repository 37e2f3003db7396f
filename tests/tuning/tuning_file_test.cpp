#include "src/tuning/tuning_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "src/base/content_hash.h"
#include "src/base/error.h"
#include "src/base/hex_text.h"
#include "tests/support/error_of.h"
#include "tests/tuning/plugin/fake_world.h"

namespace octet {
namespace {

TuningFile full() {
  TuningFile tuning{.cluster = "a \"quoted\" name",
                    .fabric = "infiniband",
                    .nccl = "2.28.9",
                    .provenance = {},
                    .constants = {},
                    .fits = {},
                    .choices = {}};
  tuning.provenance = {.created = "2026-01-02T03:04:05Z",
                       .tool = "octet 0.1.0",
                       .measurements = {{"all_reduce.txt", 31, hex_text(7)}},
                       .notes = {"one, two: [three]"}};
  tuning.constants.base_latency.push_back({Algorithm::nvls, Protocol::simple, 0.1});
  tuning.constants.hw_latency.push_back({TunedLink::pci, Algorithm::collnet_chain, Protocol::simple, 1e-3});
  tuning.constants.bandwidth.push_back({TunedLimit::ring_ll128, TunedGeneration::ampere, 2, 36.7});
  TunedFit fit;
  fit.shape = {64, 8}, fit.alpha_us = 1.0 / 3, fit.beta_gbs = 48, fit.rows = 12, fit.residual = .015,
  fit.confidence = 1;
  tuning.fits.push_back(fit);
  TunedChoice choice;
  choice.nodes_from = 2, choice.nodes_to = 9, choice.bytes_from = 1, choice.bytes_to = 1'000'000'000'000;
  choice.reason = "measured 120 us against 180 us";
  tuning.choices.push_back(choice);
  return tuning;
}

TEST(TuningFile, WhatIsWrittenReadsBack) {
  const test::Folder folder;
  const std::string file = folder.path() + "/tuning.json", text = to_json(full());
  write_tuning_file(file, full());
  EXPECT_EQ(test::content(file), text);
  EXPECT_EQ(to_json(read_tuning_file(file)), text) << "every value, and the same text again";
  const TuningFile back = read_tuning_file(file);
  EXPECT_EQ(back.cluster, full().cluster);
  EXPECT_EQ(back.fits.at(0).alpha_us, 1.0 / 3);
  EXPECT_EQ(back.fits.at(0).shape, (CommShape{64, 8}));
  EXPECT_EQ(back.constants.hw_latency.at(0).link, TunedLink::pci);
  EXPECT_EQ(back.choices.at(0).bytes_to, 1'000'000'000'000);
  EXPECT_EQ(back.provenance.notes, full().provenance.notes);
}

TEST(TuningFile, ACollectiveMayBeSpelledAsACommandLineHasIt) {
  const test::Folder folder;
  const std::string file = folder.path() + "/tuning.json";
  std::string text = to_json(full());
  const std::string name = "\"all_reduce\"", spelled = "\"allreduce\"";
  for (std::size_t at; (at = text.find(name)) != std::string::npos;) text.replace(at, name.size(), spelled);
  std::ofstream(file) << text;
  EXPECT_EQ(to_json(read_tuning_file(file)), to_json(full()));
  text.replace(text.find(spelled), spelled.size(), "\"allreuse\"");
  std::ofstream(file) << text;
  EXPECT_THROW(read_tuning_file(file), Error);
}

TEST(TuningFile, ARowIsALine) {
  const std::string text = to_json(full());
  EXPECT_NE(
      text.find("\n    {\"collective\": \"all_reduce\", \"nodes\": [2, 9], \"ranks_per_node\": 8, \"bytes\": [1, "
                "1000000000000], \"algorithm\": \"ring\", \"protocol\": \"simple\", \"reason\": \"measured 120 us "
                "against 180 us\"}\n"),
      std::string::npos)
      << text;
}

TEST(TuningFile, AFileThatCannotBeWrittenIsNamed) {
  try {
    write_tuning_file("/nowhere/tuning.json", full());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find("/nowhere/tuning.json"), std::string::npos);
  }
}

struct Wrong {
  const char *from, *to;  ///< what is replaced in the good text
  const char* message;    ///< part of what is said
};

class WrongTuningFile : public testing::TestWithParam<Wrong> {};

TEST_P(WrongTuningFile, IsRefusedWithKeyValueAndWhatWasExpected) {
  const Wrong& wrong = GetParam();
  std::string text = to_json(full());
  const std::size_t at = text.find(wrong.from);
  ASSERT_NE(at, std::string::npos) << wrong.from;
  text.replace(at, std::string(wrong.from).size(), wrong.to);
  try {
    parse_tuning_file(text, "file.json");
    FAIL() << "accepted: " << wrong.to;
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_EQ(what.rfind("[tuning] file.json:", 0), 0U) << what;
    EXPECT_NE(what.find(wrong.message), std::string::npos) << what;
    EXPECT_NE(what.find("expected"), std::string::npos) << what;
  }
}

INSTANTIATE_TEST_SUITE_P(
    , WrongTuningFile,
    testing::Values(
        Wrong{"\"octet_tuning\": 1", "\"octet_tuning\": 2", "octet_tuning is 2; expected an integer of 1 to 1"},
        Wrong{"\"fabric\": \"infiniband\",", "", "fabric is missing; expected a text"},
        Wrong{"\"2.28.9\"", "\"3.0\"", "nccl is \"3.0\"; expected a version of NCCL"},
        Wrong{"\"2.28.9\"", "\"2.x\"", "nccl is \"2.x\""}, Wrong{"\"2.28.9\"", "2.28", "nccl is 2.28; expected a text"},
        Wrong{"\"fits\"", "\"fit\"", "unknown key fit; expected one of octet_tuning, "},
        Wrong{"\"nccl\":", "\"fabric\": \"roce\", \"nccl\":", "the key \"fabric\" stands twice"},
        Wrong{"\"algorithm\": \"ring\", \"protocol\": \"simple\", \"reason\"",
              "\"algorithm\": \"rng\", \"protocol\": \"simple\", \"reason\"",
              "choices[0].algorithm is \"rng\"; expected one of tree, ring, collnet_direct, "},
        Wrong{"\"algorithm\": \"ring\", \"protocol\": \"simple\", \"reason\"",
              "\"algorithm\": \"pat\", \"protocol\": \"simple\", \"reason\"",
              "NCCL has no all_reduce by pat with simple"},
        Wrong{"\"algorithm\": \"ring\", \"protocol\": \"simple\", \"reason\"",
              "\"algorithm\": \"nvls\", \"protocol\": \"ll\", \"reason\"", "NCCL has no all_reduce by nvls with ll"},
        Wrong{"[2, 9]", "[9, 2]", "choices[0].nodes is [9,2]; expected [from, to] with"},
        Wrong{"[2, 9]", "[0, 9]", "choices[0].nodes is [0,9]"},
        Wrong{"[2, 9]", "[2, 9, 10]", "choices[0].nodes is [2,9,10]"},
        Wrong{"[2, 9]", "[2, 1e3]", "choices[0].nodes[1] is 1000.0"},
        Wrong{"[1, 1000000000000]", "[1, 1]", "choices[0].bytes is [1,1]"},
        Wrong{"[1, 1000000000000]", "[-1, 5]", "choices[0].bytes[0] is -1"},
        Wrong{"[1, 1000000000000]", "[1, 18446744073709551615]", "choices[0].bytes"},
        Wrong{"\"us\": 0.1", "\"us\": -0.1",
              "constants.base_latency[0].us is -0.1; expected a number of 0.001 to 1000000"},
        Wrong{"\"us\": 0.1", "\"us\": 0", "constants.base_latency[0].us is 0; expected a number of 0.001 to "},
        Wrong{"\"us\": 0.1", "\"us\": 2e6", "constants.base_latency[0].us is 2000000.0; expected a number of "},
        Wrong{"\"us\": 0.1", "\"us\": null", "constants.base_latency[0].us is null; expected a number of "},
        Wrong{"\"us\": 0.001", "\"us\": -3", "constants.hw_latency[0].us is -3; expected a number of 0.001 to "},
        Wrong{"\"us\": 0.001", "\"us\": 0.0", "constants.hw_latency[0].us is 0.0; expected a number of 0.001 to "},
        Wrong{"\"gbs\": 36.7", "\"gbs\": 0", "constants.bandwidth[0].gbs is 0; expected a number of 0.01 to 10000"},
        Wrong{"\"gbs\": 36.7", "\"gbs\": -36.7", "constants.bandwidth[0].gbs is -36.7; expected a number of "},
        Wrong{"\"gbs\": 36.7", "\"gbs\": 36700", "constants.bandwidth[0].gbs is 36700; expected a number of "},
        Wrong{"\"gbs\": 36.7", "\"gbs\": NaN", "no valid JSON; expected a tuning file in JSON"},
        Wrong{"\"nodes\": 2, \"gbs\"", "\"nodes\": 4, \"gbs\"",
              "bandwidth[0].nodes is 4; expected an integer of 1 to 3"},
        Wrong{"\"algorithm\": \"nvls\", \"protocol\": \"simple\", \"us\"",
              "\"algorithm\": \"nvls\", \"protocol\": \"ll\", \"us\"",
              "base_latency[0].protocol is \"ll\"; expected another: NCCL has no nvls with ll"},
        Wrong{"\"us\": 0.1", "\"us\": 1e999", "no valid JSON"}, Wrong{"\"us\": 0.1", "\"us\": NaN", "no valid JSON"},
        Wrong{"\"confidence\": 1.0", "\"confidence\": 1.5", "fits[0].confidence is 1.5; expected a number of 0 to 1"},
        Wrong{"\"link\": \"pci\"", "\"link\": \"wire\"",
              "hw_latency[0].link is \"wire\"; expected one of nvlink, pci, net"},
        Wrong{"\"fits\": [", "\"fits\": [7, ", "fits[0] is 7; expected an object"},
        Wrong{"\"choices\": [", "\"choices\": {}, \"other\": [", "choices is {}; expected a list"},
        Wrong{"\"notes\": [", "\"notes\": [1, ", "provenance.notes[0] is 1"},
        Wrong{"\"notes\": [", "\"notes\": null, \"other\": [", "provenance.notes is null; expected a list"},
        Wrong{"}\n  ]\n}\n", "}\n  ]\n} x", "expected a tuning file in JSON"}));

void expect_refused(const TuningFile& tuning, const std::string& message) {
  EXPECT_EQ(test::error_of([&] { parse_tuning_file(to_json(tuning), "file.json"); }),
            "[tuning] file.json: constants." + message);
}

TEST(TuningFile, AConstantGivenTwiceIsRefused) {
  TuningFile base = full(), hw = full(), bandwidth = full();
  base.constants.base_latency.push_back({Algorithm::ring, Protocol::simple, 1});
  base.constants.base_latency.push_back({Algorithm::nvls, Protocol::simple, 3});
  expect_refused(base,
                 "base_latency[2].algorithm is \"nvls\"; expected a constant that no other row has; row [0] is for the "
                 "same");
  hw.constants.hw_latency.push_back({TunedLink::net, Algorithm::collnet_chain, Protocol::simple, 1});
  EXPECT_NO_THROW(parse_tuning_file(to_json(hw), "file.json")) << "another link";
  hw.constants.hw_latency.push_back({TunedLink::pci, Algorithm::collnet_chain, Protocol::simple, 1});
  expect_refused(hw,
                 "hw_latency[2].algorithm is \"collnet_chain\"; expected a constant that no other row has; row [0] is "
                 "for the same");
  bandwidth.constants.bandwidth.push_back({TunedLimit::ring_ll128, TunedGeneration::ampere, 3, 30});
  EXPECT_NO_THROW(parse_tuning_file(to_json(bandwidth), "file.json")) << "other nodes";
  bandwidth.constants.bandwidth.push_back({TunedLimit::ring_ll128, TunedGeneration::ampere, 2, 36.7});
  expect_refused(bandwidth,
                 "bandwidth[2].limit is \"ring_ll128\"; expected a constant that no other row has; row [0] is for the "
                 "same");
}

TEST(TuningFile, TwoChoicesForTheSameBytesAreRefused) {
  TuningFile tuning = full();
  TunedChoice other = tuning.choices[0];
  other.nodes_from = 8, other.nodes_to = 0, other.bytes_from = 999'999'999'999, other.bytes_to = 0;
  tuning.choices.push_back(other);
  try {
    parse_tuning_file(to_json(tuning), "file.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("choices[0] and choices[1]"), std::string::npos) << error.what();
  }
  tuning.choices[1].bytes_from = 1'000'000'000'000;
  EXPECT_NO_THROW(parse_tuning_file(to_json(tuning), "file.json"));
  tuning.choices[1].bytes_from = 0, tuning.choices[1].nodes_from = 9;
  EXPECT_NO_THROW(parse_tuning_file(to_json(tuning), "file.json"));
  tuning.choices[1].nodes_from = 2, tuning.choices[1].ranks_per_node = 1;
  EXPECT_NO_THROW(parse_tuning_file(to_json(tuning), "file.json"));
}

TEST(TuningFile, MinorReleases) {
  EXPECT_EQ(nccl_minor("2.28.9"), 28);
  EXPECT_EQ(nccl_minor("2.28"), 28);
  for (const char* text : {"", "2", "2.", "2.x", "3.1", "2.-1", "2.28x", " 2.28", "2.99999999999"}) {
    EXPECT_EQ(nccl_minor(text), -1) << text;
  }
}

TEST(TuningFile, HashIsFnv1a) {
  // Test vectors of the FNV authors (isthe.com/chongo/tech/comp/fnv).
  EXPECT_EQ(hex_text(content_hash("")), "cbf29ce484222325");
  EXPECT_EQ(hex_text(content_hash("a")), "af63dc4c8601ec8c");
  EXPECT_EQ(hex_text(content_hash("foobar")), "85944171f73967e8");
}

TEST(TuningFile, ShippedOnesRead) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::shipped(""))) {
    const TuningFile tuning = read_tuning_file(entry.path());
    EXPECT_EQ(to_json(tuning), test::content(entry.path())) << entry.path() << " is not as octet writes it";
    EXPECT_FALSE(tuning.provenance.notes.empty()) << entry.path() << " does not say where it is from";
    EXPECT_EQ(tuning.cluster + ".json", entry.path().filename());
    ++files;
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace octet
