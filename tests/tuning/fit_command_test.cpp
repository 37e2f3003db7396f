#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "src/tuning/tuning_file.h"
#include "tests/data/support.h"
#include "tests/support/expect_has.h"
#include "tests/support/run_command.h"
#include "tests/tuning/fit_support.h"

namespace octet::test {
namespace {

const std::string tune_fit = OCTET_BIN_DIR "/octet tune fit ";

TEST(TuneFitCommand, WritesAFileThatReadsBack) {
  const std::string output = testing::TempDir() + "tuning.json";
  const CommandResult r = run_command(tune_fit + fit_samples + "v1.json " + fit_samples +
                                      "v2.17.10-reduce_scatter.txt --cluster ibm-infiniband --output " + output);
  EXPECT_EQ(r.exit_code, 0) << r.all();
  EXPECT_HAS(r.out, "all_reduce      tree/ll128            4 x 8");
  EXPECT_HAS(r.out, "reduce_scatter  (library's choice)    4 x 8");
  EXPECT_HAS(r.out, "in place left out: wrong results");
  EXPECT_HAS(r.err, "1 fits, 0 constants, 0 choices");
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
  const CommandResult r = run_command(tune_fit + fit_samples + "v1.json --cluster ibm-infiniband --json");
  EXPECT_EQ(r.exit_code, 0) << r.all();
  const auto json = nlohmann::json::parse(r.out);
  EXPECT_EQ(json.at("groups").at(0).at("algorithm"), "tree");
  EXPECT_EQ(json.at("tuning").at("fits").size(), 1U);
}

// The first rows of the table in NVIDIA/dgx-spark-playbooks, pull request 103.
constexpr const char* table_of_2_31 = R"(# nccl-tests version 2.20.0 (b4d5bee) nccl-headers=23102 nccl-library=23102
# Collective test starting: all_reduce_perf
#  Rank  0 Group  0 Pid 1666603 on spark-d708 device  0 [000f:01:00] NVIDIA GB10
#  Rank  1 Group  0 Pid 1669515 on spark-dbf4 device  0 [000f:01:00] NVIDIA GB10
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
        8192          2048     float     sum      -1    35.15    0.23    0.23       0    30.33    0.27    0.27       0
       16384          4096     float     sum      -1    31.67    0.52    0.52       0    30.75    0.53    0.53       0
       32768          8192     float     sum      -1    39.56    0.83    0.83       0    37.44    0.88    0.88       0
       65536         16384     float     sum      -1    67.93    0.96    0.96       0    64.71    1.01    1.01       0
# Out of bounds values : 0 OK
)";

TEST(TuneFitCommand, AnNcclWithoutACostModelIsFittedAndNotWritten) {
  const std::string folder = testing::TempDir(), output = folder + "of_2_31.json";
  std::filesystem::remove(output);
  write_bytes(folder + "of_2_31.txt", table_of_2_31);
  const std::string command = tune_fit + folder + "of_2_31.txt --cluster ibm-infiniband --algo ring --proto simple";
  const CommandResult shown = run_command(command);
  EXPECT_EQ(shown.exit_code, 0) << shown.all();
  EXPECT_HAS(shown.out, "NCCL 2.31.2: time = alpha");
  EXPECT_HAS(shown.out, "all_reduce      ring/simple           2 x 1");
  EXPECT_HAS(shown.out, "choices where measurement contradicts the model: no model of NCCL 2.31.2 is known");
  const CommandResult written = run_command(command + " --output " + output);
  EXPECT_EQ(written.exit_code, 64);
  EXPECT_HAS(written.err, "not written: measured with NCCL 2.31.2, expected 2.27 to 2.30");
  EXPECT_FALSE(std::filesystem::exists(output));
}

TEST(TuneFitCommand, ErrorsSayWhatIsWrong) {
  const std::string unnamed = testing::TempDir() + "unnamed.json";
  std::filesystem::remove(unnamed);
  const CommandResult library = run_command(
      tune_fit + fit_samples + "v2.17.10-reduce_scatter.txt --cluster ibm-infiniband " + "--output " + unnamed);
  EXPECT_EQ(library.exit_code, 64);
  EXPECT_HAS(library.err, "run the benchmark with NCCL_ALGO and NCCL_PROTO set");
  EXPECT_FALSE(std::filesystem::exists(unnamed));

  const CommandResult nowhere = run_command(
      tune_fit + fit_samples + "v2.17.10-reduce_scatter.txt --cluster ibm-infiniband --output /nowhere/a.json");
  EXPECT_EQ(nowhere.exit_code, 64);
  EXPECT_HAS(nowhere.err, "--output /nowhere/a.json: cannot be written: No such file or directory");
  EXPECT_EQ(nowhere.out, "") << "before any work";

  const CommandResult over =
      run_command(tune_fit + fit_samples + "v1.json --cluster ibm-infiniband --output " + fit_samples + "v1.json");
  EXPECT_EQ(over.exit_code, 64);
  EXPECT_HAS(over.err, "v1.json: is one of the measurements, expected another file");
  const CommandResult tuned =
      run_command(tune_fit + OCTET_SOURCE_DIR "/configs/tuning/aws-p5-efa.json --cluster aws-p5-efa");
  EXPECT_EQ(tuned.exit_code, 64);
  EXPECT_HAS(tuned.err, "is a tuning file, expected the output of");

  const CommandResult version =
      run_command(tune_fit + fit_samples + "v2.9-all_reduce_perf.txt --cluster ibm-infiniband");
  EXPECT_EQ(version.exit_code, 64);
  EXPECT_HAS(version.err, "give --nccl VERSION");
  const CommandResult other = run_command(tune_fit + fit_samples + "v1.json --cluster ibm-infiniband --nccl 2.27.7");
  EXPECT_EQ(other.exit_code, 64);
  EXPECT_HAS(other.err, "a tuning file is of one release");
  const CommandResult count = run_command(tune_fit + fit_samples + "v1.json --cluster ibm-infiniband --nodes 0");
  EXPECT_EQ(count.exit_code, 64);
  EXPECT_NE(count.err.find("--nodes = 0: expected integer >= 1"), std::string::npos) << count.err;
  EXPECT_EQ(run_command(tune_fit + fit_samples + "v1.json").exit_code, 64);
  EXPECT_EQ(run_command(tune_fit + fit_samples + "v1.json --cluster ibm-infiniband --nodes 0").exit_code, 64);
}

}  // namespace
}  // namespace octet::test
