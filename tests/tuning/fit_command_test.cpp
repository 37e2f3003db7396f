#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "src/tuning/tuning_file.h"
#include "tests/support/run_command.h"

namespace octet::test {
namespace {

const std::string fit = OCTET_BIN_DIR "/octet tune fit ";
const std::string samples = OCTET_SOURCE_DIR "/tests/tuning/fit/";

void expect_in(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << "no " << part << " in: " << text;
}

TEST(TuneFitCommand, WritesAFileThatReadsBack) {
  const std::string output = testing::TempDir() + "tuning.json";
  const CommandResult r = run_command(fit + samples + "v1.json " + samples +
                                      "v2.17.10-reduce_scatter.txt --cluster ibm-infiniband --output " + output);
  EXPECT_EQ(r.exit_code, 0) << r.all();
  expect_in("all_reduce      tree/ll128            4 x 8", r.out);
  expect_in("reduce_scatter  (library's choice)    4 x 8", r.out);
  expect_in("in place left out: wrong results", r.out);
  expect_in("1 fits, 0 constants, 0 choices", r.err);
  const TuningFile tuning = read_tuning_file(output);
  EXPECT_EQ(tuning.cluster, "ibm-infiniband");
  EXPECT_EQ(tuning.nccl, "2.28.9");
  ASSERT_EQ(tuning.fits.size(), 1U);
  EXPECT_NEAR(tuning.fits[0].alpha_us, 66, 3);  // what the sample was made with
  EXPECT_NEAR(tuning.fits[0].beta_gbs, 100, 5);
  EXPECT_EQ(tuning.fits[0].rows, 25);
  EXPECT_EQ(tuning.provenance.measurements.size(), 2U);
}

TEST(TuneFitCommand, Json) {
  const CommandResult r = run_command(fit + samples + "v1.json --cluster ibm-infiniband --json");
  EXPECT_EQ(r.exit_code, 0) << r.all();
  const auto json = nlohmann::json::parse(r.out);
  EXPECT_EQ(json.at("groups").at(0).at("algorithm"), "tree");
  EXPECT_EQ(json.at("tuning").at("fits").size(), 1U);
}

TEST(TuneFitCommand, ErrorsSayWhatIsWrong) {
  const std::string unnamed = testing::TempDir() + "unnamed.json";
  std::filesystem::remove(unnamed);
  const CommandResult library =
      run_command(fit + samples + "v2.17.10-reduce_scatter.txt --cluster ibm-infiniband " + "--output " + unnamed);
  EXPECT_EQ(library.exit_code, 64);
  expect_in("run the benchmark with NCCL_ALGO and NCCL_PROTO set", library.err);
  EXPECT_FALSE(std::filesystem::exists(unnamed));

  const CommandResult nowhere =
      run_command(fit + samples + "v2.17.10-reduce_scatter.txt --cluster ibm-infiniband --output /nowhere/a.json");
  EXPECT_EQ(nowhere.exit_code, 64);
  expect_in("--output /nowhere/a.json: cannot be written: No such file or directory", nowhere.err);
  EXPECT_EQ(nowhere.out, "") << "before any work";

  const CommandResult over =
      run_command(fit + samples + "v1.json --cluster ibm-infiniband --output " + samples + "v1.json");
  EXPECT_EQ(over.exit_code, 64);
  expect_in("v1.json: is one of the measurements, expected another file", over.err);
  const CommandResult tuned =
      run_command(fit + OCTET_SOURCE_DIR "/configs/tuning/aws-p5-efa.json --cluster aws-p5-efa");
  EXPECT_EQ(tuned.exit_code, 64);
  expect_in("is a tuning file, expected the output of", tuned.err);

  const CommandResult version = run_command(fit + samples + "v2.9-all_reduce_perf.txt --cluster ibm-infiniband");
  EXPECT_EQ(version.exit_code, 64);
  expect_in("give --nccl VERSION", version.err);
  const CommandResult other = run_command(fit + samples + "v1.json --cluster ibm-infiniband --nccl 2.27.7");
  EXPECT_EQ(other.exit_code, 64);
  expect_in("a tuning file is of one release", other.err);
  const CommandResult count = run_command(fit + samples + "v1.json --cluster ibm-infiniband --nodes 0");
  EXPECT_EQ(count.exit_code, 64);
  EXPECT_NE(count.err.find("--nodes = \"0\": expected a whole number"), std::string::npos) << count.err;
  EXPECT_EQ(run_command(fit + samples + "v1.json").exit_code, 64);
  EXPECT_EQ(run_command(fit + samples + "v1.json --cluster ibm-infiniband --nodes 0").exit_code, 64);
}

}  // namespace
}  // namespace octet::test
