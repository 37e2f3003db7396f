#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "src/base/error.h"
#include "src/tuning/fit/benchmark_file.h"
#include "src/tuning/fit/nccl_environment.h"
#include "tests/support/error_of.h"
#include "tests/tuning/fit_support.h"

namespace octet {
namespace {

std::string text_of(const std::string& name) {
  std::ifstream in(fit_samples + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A sample with one part replaced, which must be in it.
std::string changed(const std::string& name, const std::string& from, const std::string& to) {
  std::string text = text_of(name);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

BenchmarkFile read_text(const std::string& name, const std::string& text, const ReadOptions& options = {}) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << text;
  return read_measurements(path, options);
}

std::string refusal(const std::string& name, const std::string& text, const ReadOptions& options = {}) {
  return test::error_of([&] { read_text(name, text, options); });
}

void expect_within(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

TEST(FitReaders, Version29HasErrorsInsteadOfCounts) {
  const BenchmarkFile file = read_measurements(fit_samples + "v2.9-all_reduce_perf.txt");
  EXPECT_EQ(file.format, "nccl-tests text");
  EXPECT_EQ(file.nccl, "");
  ASSERT_EQ(file.rows.size(), 25U);  // 13 sizes, in place and out of place, one wrong
  const Measurement& first = file.rows.front();
  EXPECT_EQ(first.collective, Collective::all_reduce);
  EXPECT_EQ(first.shape, (CommShape{2, 4}));
  EXPECT_EQ(first.bytes, 8);
  EXPECT_FALSE(first.algorithm || first.protocol);
  EXPECT_FALSE(first.in_place);
  EXPECT_TRUE(file.rows.at(1).in_place);
  expect_within(first.source, "v2.9-all_reduce_perf.txt:16");
  ASSERT_EQ(file.notes.size(), 1U);
  expect_within(file.notes[0], "v2.9-all_reduce_perf.txt:19: out of place left out: wrong results (2e-03)");
}

TEST(FitReaders, ALineOfAnotherProgramMayBeOfAnyLength) {
  const std::string line = "#  Rank  0 Group  0 Pid 1 on " + std::string(400'000, 'a') + " device 0\n";
  const BenchmarkFile file = read_text("long_all_reduce_perf.txt", line + text_of("v2.9-all_reduce_perf.txt"));
  EXPECT_EQ(file.rows.size(), 25U);
}

TEST(FitReaders, ALogOfSeveralRunsOfVersion213) {
  const BenchmarkFile file = read_measurements(fit_samples + "v2.13-log.txt");
  EXPECT_EQ(file.gpus, std::set<std::string>{"NVIDIA H100 80GB HBM3"});
  ASSERT_EQ(file.rows.size(), 22U + 26U);
  const Measurement& gather = file.rows.front();
  EXPECT_EQ(gather.collective, Collective::all_gather);
  EXPECT_EQ(gather.shape, (CommShape{2, 4}));
  EXPECT_EQ(gather.algorithm, Algorithm::ring) << "NCCL's own line";
  EXPECT_EQ(gather.protocol, Protocol::simple);
  const Measurement& reduce = file.rows.back();
  EXPECT_EQ(reduce.collective, Collective::all_reduce);
  EXPECT_EQ(reduce.shape, (CommShape{1, 8}));
  EXPECT_EQ(reduce.algorithm, Algorithm::nvls) << "the script's export";
  EXPECT_EQ(reduce.protocol, Protocol::simple) << "its only one";
  EXPECT_EQ(reduce.bytes, 134217728);
  ASSERT_EQ(file.notes.size(), 2U);
  expect_within(file.notes[0], "2 rows of 0 bytes left out");
  expect_within(file.notes[1], "alltoall left out: NCCL has no choice of algorithm for it");
  ASSERT_EQ(file.pairs.size(), 1U) << "the run on two nodes";
  EXPECT_EQ(file.pairs[0].first, "gpu-1");
  EXPECT_EQ(file.pairs[0].second, "gpu-2");
  EXPECT_EQ(file.pairs[0].what, "all_gather of 134217728 bytes");
}

TEST(FitReaders, Version217WithTimestampsAndWrongResults) {
  const BenchmarkFile file = read_measurements(fit_samples + "v2.17.10-reduce_scatter.txt");
  EXPECT_EQ(file.nccl, "2.28.9");
  EXPECT_EQ(file.rows.size(), 19U);
  EXPECT_EQ(file.rows.front().collective, Collective::reduce_scatter);
  EXPECT_EQ(file.rows.front().shape, (CommShape{4, 8}));
  ASSERT_EQ(file.notes.size(), 3U);
  expect_within(file.notes[0], "in place left out: wrong results (1.04858e+06)");
  expect_within(file.notes[1], "the benchmark counted wrong results");
}

TEST(FitReaders, NcclSaysItsVersionItself) {
  const std::string old = text_of("v2.13-log.txt");  // its nccl-tests name no version
  for (const std::string line : {"NCCL version 2.18.3+cuda12.2",
                                 "gpu-1:41:41 [0] NCCL INFO NCCL version 2.18.3+cuda12.2", "0: NCCL version 2.18.3"}) {
    EXPECT_EQ(read_text("log.txt", fmt::format("{}\n{}", line, old)).nccl, "2.18.3") << line;
    EXPECT_EQ(read_text("log.txt", fmt::format("{}{}\n", old, line)).nccl, "2.18.3") << line;
  }
  EXPECT_EQ(read_text("log.txt", "# nccl-tests version 2.13.9\n" + old).nccl, "") << "that of the tests";
  const std::string name = "v2.17.10-reduce_scatter.txt";
  EXPECT_EQ(read_text("log.txt", "NCCL version 2.28.9+cuda13.0\n" + text_of(name)).nccl, "2.28.9");
  expect_within(refusal("log.txt", "NCCL version 2.21.5+cuda12.4\n" + text_of(name)),
                "a run with NCCL 2.28.9 in a file of NCCL 2.21.5; give them in files of their own");
}

/// Every line of a sample with a word before it.
std::string labelled(const std::string& name, const std::string& label) {
  const std::string text = text_of(name);
  std::string out = label;
  for (const char c : text) out += c == '\n' ? "\n" + label : std::string(1, c);
  return out;
}

TEST(FitReaders, LabelsOfHostsAndPodsAreTakenOff) {
  const std::string sample = "v2.17.10-reduce_scatter.txt";
  const BenchmarkFile plain = read_measurements(fit_samples + sample);
  for (const std::string label : {"node-0: ", "gpu01.cluster.local: ", "[pod/nccl-0/main] ", "3: "}) {
    const BenchmarkFile file = read_text("labelled.txt", labelled(sample, label));
    EXPECT_EQ(file.nccl, plain.nccl) << label;
    ASSERT_EQ(file.rows.size(), plain.rows.size()) << label;
    EXPECT_EQ(file.rows.back().microseconds, plain.rows.back().microseconds) << label;
    EXPECT_EQ(file.notes.size(), plain.notes.size()) << label;
  }
  // A single such line is a program's own, and no row.
  const BenchmarkFile one =
      read_text("one.txt", changed(sample, "# Out of bounds", "step: 8192 done\n# Out of bounds"));
  EXPECT_EQ(one.rows.size(), plain.rows.size());
}

TEST(FitReaders, Version219WithColumnsOfEachIteration) {
  const BenchmarkFile file = read_measurements(fit_samples + "v2.19.6-per-iteration.txt");
  EXPECT_EQ(file.nccl, "2.29.7");
  ASSERT_EQ(file.rows.size(), 30U);
  EXPECT_EQ(file.rows.back().bytes, std::int64_t{8} << 30);
  EXPECT_TRUE(file.rows.back().in_place);
  EXPECT_TRUE(file.notes.empty());
}

TEST(FitReaders, JsonOfBothEnds) {
  const BenchmarkFile old = read_measurements(fit_samples + "v1.json");
  EXPECT_EQ(old.gpus, std::set<std::string>{"NVIDIA H100 80GB HBM3"});
  EXPECT_EQ(old.format, "nccl-tests JSON");
  EXPECT_EQ(old.nccl, "2.28.9");
  EXPECT_EQ(old.rows.size(), 25U);
  EXPECT_EQ(old.rows.front().algorithm, Algorithm::tree);
  EXPECT_EQ(old.rows.front().protocol, Protocol::ll128);
  EXPECT_EQ(old.rows.front().shape, (CommShape{4, 8}));
  ASSERT_EQ(old.notes.size(), 1U);
  expect_within(old.notes[0], "v1.json: results[5].out_of_place: left out: wrong results (3)");

  const BenchmarkFile recent = read_measurements(fit_samples + "v3.json");
  EXPECT_EQ(recent.nccl, "2.29.7");
  EXPECT_EQ(recent.rows.front().shape, (CommShape{2, 8})) << "a process of 8 GPUs a node";
  EXPECT_EQ(recent.rows.front().collective, Collective::all_gather);
  EXPECT_EQ(recent.rows.front().algorithm, Algorithm::ring) << "what NCCL_ALGO says of all_gather";
  EXPECT_FALSE(recent.rows.front().protocol) << "^LL leaves two";
}

TEST(FitReaders, WhatLoadsATunerIsKept) {
  const std::string algorithm = "\"NCCL_ALGO\": \"Ring\",";
  EXPECT_EQ(read_measurements(fit_samples + "commbench.json").rows.front().tuner, "");
  const auto commbench = [&](const std::string& environment) {
    return read_text("tuned.json", changed("commbench.json", algorithm, environment)).rows.front();
  };
  EXPECT_EQ(commbench("\"NCCL_TUNER_PLUGIN\": \"octet\",").tuner, "NCCL_TUNER_PLUGIN=octet");
  EXPECT_EQ(commbench("\"OCTET_TUNING_FILE\": \"/a.json\",").tuner, "OCTET_TUNING_FILE=/a.json");
  EXPECT_EQ(commbench("\"OCTET_TUNING_FILE\": \"/a.json\", \"NCCL_TUNER_PLUGIN\": \"None\",").tuner, "")
      << "nothing reads the file";
  const auto tests = [&](const std::string& entry) {
    return read_text("v1.json", changed("v1.json", "\"NCCL_ALGO=Tree\"", "\"" + entry + "\"")).rows.front().tuner;
  };
  EXPECT_EQ(tests("NCCL_TUNER_PLUGIN=/opt/libnccl-tuner-octet.so"), "NCCL_TUNER_PLUGIN=/opt/libnccl-tuner-octet.so");
  EXPECT_EQ(tests("OCTET_TUNING_FILE=/b.json"), "OCTET_TUNING_FILE=/b.json");
  EXPECT_EQ(tests("HOME=/NCCL_TUNER_PLUGIN=x"), "");
  const auto log = [&](const std::string& line) {
    const std::string text = line + "\n" + text_of("v2.9-all_reduce_perf.txt");
    return read_text("v2.9-all_reduce_perf.txt", text).rows.front().tuner;
  };
  EXPECT_EQ(log("n1:2:2 [0] NCCL INFO NCCL_TUNER_PLUGIN set by environment to octet"), "NCCL_TUNER_PLUGIN=octet");
  EXPECT_EQ(log("export OCTET_TUNING_FILE=/c.json"), "OCTET_TUNING_FILE=/c.json");
  EXPECT_EQ(log("n1:2:2 [0] NCCL INFO Successfully loaded external tuner plugin /opt/libnccl-net.so"),
            "the tuner plugin /opt/libnccl-net.so");
  EXPECT_EQ(log("export NCCL_TUNER_PLUGIN=none"), "");
}

TEST(FitReaders, Commbench) {
  const BenchmarkFile file = read_measurements(fit_samples + "commbench.json");
  EXPECT_EQ(file.format, "octet-commbench JSON");
  EXPECT_EQ(file.nccl, "2.28.9");
  ASSERT_EQ(file.rows.size(), 12U);
  EXPECT_EQ(file.rows.front().shape, (CommShape{2, 8}));
  EXPECT_EQ(file.rows.front().algorithm, Algorithm::ring);
  ASSERT_EQ(file.notes.size(), 3U);
  expect_within(file.notes[0], "rows[12]: left out: wrong results (2)");
  expect_within(file.notes[1], "rows[13]: all_reduce of tp left out: several groups were busy at once");
  expect_within(file.notes[2], "rows[14]: send of world left out");
  EXPECT_EQ(file.findings, std::vector<std::string>{"link b -> a takes 4.00 times as long as others"});
  expect_within(refusal("mpi.json", changed("commbench.json", "\"NCCL\"", "\"MPI\"")), "measured over MPI");
}

TEST(FitReaders, CommbenchRowsThatNobodyComparedAreUsed) {
  const BenchmarkFile file = read_text("unchecked.json", changed("commbench.json", "\"wrong\": 0", "\"wrong\": null"));
  EXPECT_EQ(file.rows.size(), 12U);
  expect_within(refusal("less.json", changed("commbench.json", "\"wrong\": 0", "\"right\": 0")), "wrong is missing");
}

TEST(FitReaders, DamagedTextIsRefusedWithFileAndLine) {
  const std::string name = "v2.19.6-per-iteration.txt";
  const std::string text = text_of(name);
  // A line that another message got into, one that ends early, one whose number is none, one with a digit lost.
  const std::size_t row = text.find("\n        2048 ") + 1;
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(row), '\n') + 1;
  const std::string where = "damaged.txt:" + std::to_string(line) + ": ";
  const std::string message = text.substr(0, row + 40) + " gpu-1:41:41 [0] NCCL WARN" + text.substr(row + 40);
  expect_within(refusal("damaged.txt", message), where);
  expect_within(refusal("damaged.txt", message), "Did another message get into the line?");
  expect_within(refusal("damaged.txt", text.substr(0, row + 50)), where);
  const std::size_t time = text.find(" -1", row) + 5;
  EXPECT_NE(text.substr(time, 7), std::string(7, ' '));
  std::string word = text;
  word.replace(time, 7, "   fast");
  expect_within(refusal("damaged.txt", word), where + "time is \"fast\"; expected a number");
  std::string digit = text;
  digit.replace(time, 7, "   1.10");
  expect_within(refusal("damaged.txt", digit), where + "2048 bytes in 1.1 us are 1.86 GB/s, but algbw is");
}

TEST(FitReaders, TheBusBandwidthMustGoWithCollectiveAndRanks) {
  const std::string wrong = changed("v2.19.6-per-iteration.txt", "starting: all_reduce", "starting: all_gather");
  expect_within(refusal("as_gather.txt", wrong), "Is that the collective, and are these all ranks?");
}

TEST(FitReaders, DamagedJsonIsRefused) {
  const std::string text = text_of("commbench.json");
  expect_within(refusal("cut.json", text.substr(0, text.size() / 2)), "did it end while it wrote?");
  expect_within(refusal("cut.json", text.substr(0, text.size() / 2)), "cut.json:");
  expect_within(refusal("other.json", "{\"a\": 1}"), "expected the JSON of nccl-tests (-J) or octet-commbench");
  expect_within(refusal("new.json", changed("v1.json", "\"version\":1", "\"version\":9")), "version 9");
  expect_within(refusal("time.json", changed("v1.json", "\"time\":", "\"time_\":")),
                "results[0].out_of_place.time is missing; expected a number");
  expect_within(refusal("cpu.json", changed("v1.json", "\"time\":", "\"cpu_time\":1,\"time\":")), "run without -C");
  expect_within(refusal("text.json", changed("v1.json", "\"size\":8,", "\"size\":\"8\",")), "expected an integer");
}

TEST(FitReaders, CountsThatNoClusterHasAreRefused) {
  for (const char* nodes : {"2000000000", "4294967298", "0", "-1"}) {
    expect_within(refusal("nodes.json", changed("commbench.json", "\"nodes\": 2", fmt::format("\"nodes\": {}", nodes))),
                  "expected an integer of 1 to 1000000");
  }
  for (const char* key : {"nthreads", "ngpus"}) {
    const std::string one = fmt::format("\"{}\":1", key);
    ASSERT_NE(text_of("v1.json").find(one), std::string::npos);
    expect_within(refusal("each.json", changed("v1.json", one, one + "000000000000")), "expected an integer of 1 to ");
  }
}

TEST(FitReaders, WhatIsNoMeasurementIsRefused) {
  expect_within(refusal("nothing.txt", "hello\nworld\n"), "no rows of measurements");
  expect_within(refusal("empty.txt", " \n"), "the file is empty");
  EXPECT_THROW(read_measurements(fit_samples + "missing.txt"), Error);
}

TEST(FitReaders, AnUnfinishedRunIsNoted) {
  const std::string text = text_of("v2.19.6-per-iteration.txt");
  const BenchmarkFile file = read_text("killed.txt", text.substr(0, text.find("# Out of bounds")));
  EXPECT_EQ(file.rows.size(), 30U);
  ASSERT_EQ(file.notes.size(), 1U);
  expect_within(file.notes[0], "its run did not finish");
}

TEST(FitReaders, OptionsSayWhatFilesDoNot) {
  const std::string text = text_of("v2.9-all_reduce_perf.txt");
  expect_within(refusal("some.txt", text), "give --collective");
  const BenchmarkFile named =
      read_text("some.txt", text, {.collective = Collective::all_reduce, .algorithm = Algorithm::tree, .protocol = {}});
  EXPECT_EQ(named.rows.front().algorithm, Algorithm::tree);

  const ReadOptions tree{.collective = {}, .algorithm = Algorithm::tree, .protocol = {}};
  expect_within(refusal("log.txt", text_of("v2.13-log.txt"), tree), "the file says ring, but --algo says tree");

  // Containers whose hosts have one name.
  std::string same = text;
  for (std::size_t at = 0; (at = same.find("gpu-2", at)) != std::string::npos;) same.replace(at, 5, "gpu-1");
  EXPECT_EQ(read_text("c_all_reduce_perf.txt", same).rows.front().shape, (CommShape{1, 8}));
  EXPECT_EQ(read_text("c_all_reduce_perf.txt", same, {.collective = {}, .algorithm = {}, .protocol = {}, .nodes = 4})
                .rows.front()
                .shape,
            (CommShape{4, 2}));
  expect_within(refusal("c_all_reduce_perf.txt", same, {.collective = {}, .algorithm = {}, .protocol = {}, .nodes = 3}),
                "the file lists 8 ranks on 1 hosts");
}

TEST(FitReaders, UnevenRanksAreRefused) {
  expect_within(refusal("u_all_reduce_perf.txt", changed("v2.9-all_reduce_perf.txt", "gpu-2", "gpu-1")),
                "the ranks are not spread evenly");
}

TEST(NcclEnvironment, OneAlgorithmOrNone) {
  EXPECT_EQ(forced_algorithm("Ring", Collective::all_reduce), Algorithm::ring);
  EXPECT_EQ(forced_algorithm("NVLSTree", Collective::all_reduce), Algorithm::nvls_tree);
  EXPECT_EQ(forced_algorithm("ring,tree", Collective::all_reduce), std::nullopt);
  EXPECT_EQ(forced_algorithm("^tree", Collective::all_reduce), std::nullopt);
  EXPECT_EQ(forced_algorithm("ring;allreduce:tree", Collective::all_reduce), Algorithm::tree);
  EXPECT_EQ(forced_algorithm("ring;allreduce:tree", Collective::all_gather), Algorithm::ring);
  EXPECT_EQ(forced_algorithm("allreduce:tree", Collective::all_gather), std::nullopt);
  EXPECT_EQ(forced_algorithm("", Collective::all_gather), std::nullopt);
  EXPECT_EQ(forced_protocol("LL128", Collective::all_gather), Protocol::ll128);
  EXPECT_THROW(forced_algorithm("rings", Collective::all_gather), Error);
}

TEST(NcclEnvironment, LinesOfLogsAndScripts) {
  ForcedByEnvironment said;
  EXPECT_TRUE(note_environment("mpirun -x NCCL_ALGO=Ring -x NCCL_PROTO='LL128' ./all_reduce_perf", said));
  EXPECT_EQ(said.algorithm, "Ring");
  EXPECT_EQ(said.protocol, "LL128");
  EXPECT_TRUE(note_environment("h:1:2 [0] NCCL INFO NCCL_PROTO set by environment to Simple.", said));
  EXPECT_EQ(said.protocol, "Simple");
  EXPECT_TRUE(note_environment("unset NCCL_ALGO", said));
  EXPECT_EQ(said.algorithm, "");
  EXPECT_FALSE(note_environment("NCCL_ALGO=$algorithm mpirun", said)) << "a script's text";
  EXPECT_FALSE(note_environment("NCCL_DEBUG=INFO", said));
}

}  // namespace
}  // namespace octet
