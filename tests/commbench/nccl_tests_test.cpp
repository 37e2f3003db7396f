// What nccl-tests print and take, here: their readers read ours, and the other way about.
#include <gtest/gtest.h>

#include <fstream>

#include "jobs/commbench/bench_context.h"
#include "jobs/commbench/nccl_tests_options.h"
#include "jobs/commbench/report.h"
#include "src/base/error.h"
#include "src/tuning/fit/benchmark_file.h"
#include "tests/support/error_of.h"

namespace octet::commbench {
namespace {

using Words = std::vector<std::string>;

TEST(NcclTestsOptions, BecomeOurs) {
  EXPECT_EQ(
      without_nccl_tests_options({"-b", "8", "-e128M", "-f", "2", "--iters", "50", "--warmup_iters=3", "-c", "0"}),
      (Words{"--min=8", "--max=128M", "--factor=2", "--iterations=50", "--warmup=3", "--check=0"}));
  EXPECT_EQ(
      without_nccl_tests_options({"-d", "bfloat16", "-T", "30", "-J", "x.json", "-g", "1", "--nthreads", "1", "-h"}),
      (Words{"--dtype=bfloat16", "--timeout=30", "--json=x.json", "--help"}));
}

TEST(NcclTestsOptions, OthersStay) {
  const Words ours = {"--config", "run.yaml",      "--min", "8", "--tolerance", "-1", "--check",
                      "2",        "--train.steps", "3",     "-"};
  EXPECT_EQ(without_nccl_tests_options(ours), ours);
}

TEST(NcclTestsOptions, WhatARankCannotDoIsRefusedWithTheReason) {
  const auto refusal = [](const Words& words) -> std::string {
    return test::error_or_none([&] { without_nccl_tests_options(words); });
  };
  for (const Words& words : {Words{"-g", "8"}, Words{"-g8"}, Words{"--ngpus", "8"}, Words{"--ngpus=8"}}) {
    EXPECT_EQ(refusal(words),
              "[commbench] -g 8 (--ngpus of nccl-tests): expected 1: a rank has one GPU, as in training: "
              "start as many times the ranks");
  }
  EXPECT_EQ(refusal({"-i", "1M"}),
            "[commbench] -i 1M (--stepbytes of nccl-tests): expected none: sizes grow by a factor: -f");
  EXPECT_EQ(refusal({"-o", "max"}), "[commbench] -o max (--op of nccl-tests): expected sum: training sums");
  EXPECT_EQ(refusal({"-b"}), "[commbench] -b: expected a value behind it");
  for (const char* harmless :
       {"-t1", "-m1", "-N1", "-p0", "-z0", "-y0", "-G0", "-C0", "-S0", "-a3", "-R0", "-u0", "-I0", "-r0"}) {
    EXPECT_EQ(refusal({harmless}), "") << harmless;
  }
}

Measured taking(double us, std::int64_t wrong = 0, bool checked = true) {
  return {.ours = timing_of({us * 0.9, us * 0.9, us * 1.2}, us), .plain = {}, .wrong = wrong, .checked = checked};
}

Row row_of(const std::string& collective, std::int64_t bytes, Form form, const Measured& measured) {
  return {.part = "sweep",
          .group = "world",
          .ranks = 8,
          .nodes = 2,
          .calls = {sweep_call(collective, DType::f32, 8, bytes)},
          .form = form,
          .device = DeviceType::cuda,
          .measured = measured};
}

/// What two nodes of 4 GPUs would print.
std::string printed(const std::string& backend) {
  Provenance p{.created = "2026-01-01T00:00:00Z",
               .version = "0.1.0",
               .backend = backend,
               .library = "NCCL 2.28.9, NVIDIA H100",
               .command = "octet-commbench",
               .nccl = "2.28.9",
               .hosts = {"a", "b"},
               .devices = {},
               .ranks = 8};
  p.environment["NCCL_ALGO"] = "Ring";
  for (int rank = 0; rank < 8; ++rank) {
    p.devices.push_back(device_line(rank, rank < 4 ? "a" : "b", rank % 4, cpu_device()));
  }
  testing::internal::CaptureStdout();
  Report report(std::move(p));
  for (const std::string collective : {"all_reduce", "all_to_all", "reduce_scatter"}) {
    report.begin_table(collective, {.min = 1024, .max = 1 << 30, .factor = 1024, .measure = {}});
    for (const auto& [bytes, us] : {std::pair(std::int64_t{1024}, 12.345), std::pair(std::int64_t{1} << 30, 4567.8)}) {
      const bool bad = collective == "reduce_scatter" && bytes == 1024;
      report.add(row_of(collective, bytes, Form::out_of_place, taking(us, bad ? 3 : 0)),
                 row_of(collective, bytes, Form::in_place, taking(us * 1.1, 0, !bad)));
    }
    report.end_table();
  }
  report.heading("a step", true, false);
  Row step = row_of("all_reduce", 4096, Form::training, taking(20));
  step.times = 2;
  report.add(step);
  report.finish();
  return testing::internal::GetCapturedStdout();
}

TEST(NcclTestsTable, IsTheirsToTheColumn) {
  const std::string text = printed("NCCL");
  const auto has = [&](const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "in\n" << text;
  };
  has("#                                                              out-of-place                       in-place      "
      "    \n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  "
      "#wrong \n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)  "
      "       \n"
      "        1024           256     float     sum      -1    12.35    0.08    0.15       0    13.58    0.08    0.13  "
      "     0\n"
      "  1073741824     268435456     float     sum      -1  4567.80  235.07  411.37       0  5024.58  213.70  373.97  "
      "     0\n"
      "# Out of bounds values : 0 OK\n"
      "# Avg bus bandwidth    : 196.404 \n"
      "#\n"
      "# Collective test concluded: all_reduce_perf\n");
  has("        1024            32     float     sum      -1    12.35    0.08    0.07       3    13.58    0.08    0.07  "
      "   N/A\n");
  has("# Out of bounds values : 3 FAILED\n");
  has("#  Rank  5 Group  0 Pid ");
}

TEST(NcclTestsTable, IsReadByTuneFit) {
  const std::string path = testing::TempDir() + "octet-commbench.txt";
  std::ofstream(path) << printed("NCCL");
  const BenchmarkFile file = read_measurements(path);
  EXPECT_EQ(file.nccl, "2.28.9");
  ASSERT_EQ(file.rows.size(), 7U);  // two sizes in two forms of two collectives, one wrong
  const Measurement& first = file.rows.front();
  EXPECT_EQ(first.collective, Collective::all_reduce);
  EXPECT_EQ(first.algorithm, Algorithm::ring) << "of the environment";
  EXPECT_EQ(first.shape, (CommShape{2, 4}));
  EXPECT_EQ(first.bytes, 1024);
  EXPECT_NEAR(first.microseconds, 12.35, 1e-9) << "the average";
  EXPECT_FALSE(first.in_place);
  EXPECT_TRUE(file.rows.back().in_place);
  EXPECT_EQ(file.rows.back().collective, Collective::reduce_scatter);
  std::string notes;
  for (const std::string& note : file.notes) notes += note + "\n";
  for (const char* part : {"alltoall left out", "out of place left out: wrong results (3)", "counted wrong results",
                           "octet-commbench's own columns left out: give the file of its --json"}) {
    EXPECT_NE(notes.find(part), std::string::npos) << notes;
  }
  EXPECT_EQ(file.notes.size(), 4U) << notes;
}

TEST(NcclTestsTable, OfMpiIsNoMeasurementOfNccl) {
  const std::string path = testing::TempDir() + "octet-commbench-mpi.txt";
  std::ofstream(path) << printed("MPI");
  try {
    read_measurements(path);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(path + ":1: measured over MPI; expected NCCL"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace octet::commbench
