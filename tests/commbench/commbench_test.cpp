// octet-commbench as it is launched: exact on 2 to 64 ranks, what it writes, and how it ends.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "tests/support/run_command.h"
#include "tests/support/temp_folder.h"

namespace octet::test {
namespace {

const std::string program = OCTET_BIN_DIR "/octet-commbench";
const std::string run_options = " --config " OCTET_SOURCE_DIR
                                "/configs/runs/english-5m.yaml --data.train none --train.seq_len 32 "
                                "--train.micro_batch 1";

CommandResult launch(int ranks, const std::string& arguments, double seconds = 240) {
  return run_command(
      fmt::format(
          "OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive exec env -u CUDA_DEVICE_MAX_CONNECTIONS mpiexec -n {} {} {}",
          ranks, program, arguments),
      seconds);
}

nlohmann::json json_of(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

nlohmann::json measured(int ranks, const std::string& arguments) {
  const test::TempFolder folder;
  const CommandResult r = launch(ranks, arguments + " --json " + folder / "rows.json");
  EXPECT_EQ(r.exit_code, 0) << r.all();
  EXPECT_NE(r.out.find("Out of bounds values : 0 OK"), std::string::npos) << r.all();
  EXPECT_EQ(r.out.find("FAILED"), std::string::npos) << r.all();
  return json_of(folder / "rows.json");
}

void expect_whole(const nlohmann::json& row) {
  EXPECT_EQ(row["wrong"], 0);
  EXPECT_GT(row["time_us"], 0);
  EXPECT_GE(row["p95_us"], row["time_us"]);
  EXPECT_GE(row["time_us"], row["min_us"]);
  const double expected = row["bytes"].get<double>() / row["time_us"].get<double>() / 1e3;
  EXPECT_NEAR(row["algbw_gbs"], expected, 1e-9 + 1e-6 * expected);
}

class Sweep : public testing::TestWithParam<int> {};

TEST_P(Sweep, IsExact) {
  const int ranks = GetParam();
  const bool few = ranks <= 8;
  const auto file = measured(ranks, few ? "--max 3M --factor 50 --iterations 3 --warmup 1"
                                        : "--min 512 --max 4K --factor 8 --iterations 1 --warmup 0");
  EXPECT_EQ(file["octet_commbench"], 1);
  EXPECT_EQ(file["provenance"]["ranks"], ranks);
  EXPECT_EQ(file["provenance"]["backend"], "MPI");
  EXPECT_EQ(file["provenance"]["environment"]["OMP_NUM_THREADS"], "1");
  EXPECT_EQ(file["provenance"]["environment"]["CUDA_DEVICE_MAX_CONNECTIONS"], "32") << "where nobody set it";
  std::set<std::string> collectives;
  for (const auto& row : file["rows"]) {
    expect_whole(row);
    EXPECT_EQ(row["ranks"], ranks);
    EXPECT_EQ(row["nodes"], 1);
    collectives.insert(row["collective"]);
    const double factor = row["busbw_gbs"].get<double>() / row["algbw_gbs"].get<double>();
    const double others = (ranks - 1.0) / ranks, broadcast = ranks == 1 ? 0 : 1;
    const auto& name = row["collective"];
    EXPECT_NEAR(factor, name == "all_reduce" ? 2 * others : name == "broadcast" ? broadcast : others, 1e-9) << name;
  }
  EXPECT_EQ(collectives.size(), 5U);
  EXPECT_EQ(file["rows"].size(), few ? 40U : 20U);
  for (std::size_t i = 0; i < file["rows"].size(); ++i) EXPECT_EQ(file["rows"][i]["in_place"], i % 2 == 1);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Sweep, testing::Values(1, 2, 3, 4, 8, 64),
                         [](const auto& ranks) { return std::to_string(ranks.param); });

TEST(Commbench, OtherTypesAreExact) {
  for (const char* type : {"bfloat16", "int32", "uint8"}) {
    const auto file = measured(3, fmt::format("--max 100K --factor 1000 --iterations 2 --dtype {}", type));
    for (const auto& row : file["rows"]) EXPECT_EQ(row["type"], row["redop"] == "sum" ? "float" : type);
  }
}

/// Without a launcher, which would take the table and lose it.
TEST(Commbench, ATableThatADiskDoesNotTakeIsAFailure) {
  const CommandResult r =
      run_command(fmt::format("OMP_NUM_THREADS=1 exec {} --max 1K --factor 1000 --iterations 2 >/dev/full", program));
  EXPECT_EQ(r.exit_code, 70) << r.err;
  EXPECT_NE(r.err.find("standard output did not take all that was printed"), std::string::npos) << r.err;
  EXPECT_EQ(run_command(fmt::format("exec {} --help >/dev/full", program)).exit_code, 70);
}

TEST(Commbench, ATypeThatReductionsDoNotHaveIsSaidOrRefused) {
  const std::string said = "# --dtype bfloat16: of what does not reduce; reductions are of float, as in training\n";
  const auto says = [&](const std::string& collectives) {
    const CommandResult r = launch(2, "--max 8 --iterations 1 -d bfloat16 --collective " + collectives);
    EXPECT_EQ(r.exit_code, 0) << r.all();
    return r.out.find(said) != std::string::npos;
  };
  EXPECT_TRUE(says("all_gather,all_reduce"));
  EXPECT_FALSE(says("all_gather,broadcast"));
  for (const std::string collectives : {"all_reduce", "reduce_scatter,all_reduce"}) {
    const CommandResult r = launch(2, "--max 8 -d bfloat16 --collective " + collectives);
    EXPECT_EQ(r.exit_code, 64) << r.all();
    const std::string reason =
        "--dtype bfloat16 with --collective " + collectives + ": reductions are of float, as in training";
    EXPECT_NE(r.err.find(reason), std::string::npos) << r.err;
    EXPECT_EQ(r.out, "");
  }
}

TEST(Commbench, PlainMpiIsMeasuredInTurns) {
  const auto file = measured(2, "--max 64K --factor 100 --iterations 3 --compare-mpi");
  for (const auto& row : file["rows"]) EXPECT_GT(row["plain_mpi_us"], 0);
}

TEST(Commbench, OptionsAndTableAreThoseOfNcclTests) {
  const CommandResult r = launch(
      2, "--collective all_reduce,alltoall -b 64 -e 4K --stepfactor=8 -n 3 -w1 -c 2 -g 1 -t 1 -z 0 -d float -T 60");
  EXPECT_EQ(r.exit_code, 0) << r.all();
  const std::string head =
      "# nThread 1 nGpus 1 minBytes 64 maxBytes 4096 step: 8(factor) warmup iters: 1 iters: 3 agg "
      "iters: 1 validation: 2 graph: 0 unalign: 0\n#\n# Using devices\n#  Rank  0 Group  0 Pid ";
  EXPECT_NE(r.out.find("# Collective test starting: all_reduce_perf\n" + head), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("# Collective test concluded: alltoall_perf\n"), std::string::npos) << r.out;
  std::istringstream lines(r.out);
  std::vector<std::int64_t> sizes;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    const std::vector<std::string> row(std::istream_iterator<std::string>(words), {});
    ASSERT_EQ(row.size(), 13U) << line;
    sizes.push_back(std::stoll(row[0]));
    EXPECT_EQ(std::stoll(row[1]) * 4 * (row[3] == "none" ? 2 : 1), sizes.back()) << line;
    EXPECT_EQ(row[2], "float");
    for (const std::size_t half : {std::size_t{5}, std::size_t{9}}) {
      EXPECT_GT(std::stod(row[half]), 0);
      EXPECT_EQ(row[half + 3], "0");
    }
  }
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{64, 512, 4096, 64, 512, 4096}));
}

TEST(Commbench, ColumnsOfOursHaveThePercentile) {
  const CommandResult r = launch(2, "--collective all_gather --max 64 --iterations 2 --columns octet");
  EXPECT_EQ(r.exit_code, 0) << r.all();
  EXPECT_NE(r.out.find("root       time        p95    algbw    busbw #wrong"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("# Out of bounds values : 0 OK"), std::string::npos) << r.out;
}

/// All-to-all of 48 bytes, of which 16 go from rank 0 to rank 2, the last of them wrong.
TEST(Commbench, AWrongValueEndsWith76AndIsNotLookedForWhereNobodyAsks) {
  const auto spoiled = [](const std::string& options) {
    return run_command(fmt::format("OMP_NUM_THREADS=1 OCTET_WRONG_SEND=0:2:16 LD_PRELOAD={} exec mpiexec -n 3 {} "
                                   "--collective all_to_all -b 48 -e 48 -n 2 {}",
                                   OCTET_WRONG_SEND, program, options),
                       120);
  };
  const test::TempFolder folder;
  const CommandResult found = spoiled("-c 1 -J " + folder / "rows.json");
  EXPECT_EQ(found.exit_code, 76) << found.all();
  EXPECT_NE(found.out.find("# Out of bounds values : 4 FAILED"), std::string::npos)
      << "one element, before and after, out of place and in place\n"
      << found.out;
  EXPECT_EQ(json_of(folder / "rows.json")["rows"][0]["wrong"], 2);
  const CommandResult unseen = spoiled("-c 0 -J " + folder / "rows.json");
  EXPECT_EQ(unseen.exit_code, 0) << unseen.all();
  EXPECT_NE(unseen.out.find("   N/A"), std::string::npos) << unseen.out;
  EXPECT_TRUE(json_of(folder / "rows.json")["rows"][0]["wrong"].is_null());
}

/// The ranks have their communicators when they find that memory is too small.
TEST(Commbench, TellsWhatFailedBeforeItTakesAnythingDown) {
  for (const char* part : {"--sweep --compare-mpi --min 1024G --max 1024G", "--pairs ranks --pair-size 1024G"}) {
    const CommandResult r = run_command(
        fmt::format("OMP_NUM_THREADS=1 LD_PRELOAD={} exec mpiexec -n 2 {} {}", OCTET_ENDLESS_TEARDOWN, program, part),
        120);
    EXPECT_FALSE(r.timed_out) << part;
    EXPECT_EQ(r.exit_code, 64) << r.all();
    EXPECT_NE(r.err.find("2 rank(s) take "), std::string::npos) << r.err;
  }
}

TEST(Commbench, AStepsCollectivesRunInTheGroupsOfTheMesh) {
  const auto file = measured(8, run_options +
                                    " --precision float8 --parallel.dp_replicate 2 --parallel.tp 2 "
                                    "--train.global_batch 8 --iterations 2 --row-seconds 1");
  std::map<std::string, std::int64_t> ranks, groups, times;
  for (const auto& row : file["rows"]) {
    expect_whole(row);
    EXPECT_EQ(row["part"], "run");
    ranks[row["group"]] = row["ranks"];
    groups[row["group"]] = row["groups"];
    times[row["collective"].get<std::string>() + " " + row["group"].get<std::string>()] +=
        row["times_per_step"].get<std::int64_t>();
  }
  EXPECT_EQ(ranks, (std::map<std::string, std::int64_t>{
                       {"dp", 4}, {"dp_replicate", 2}, {"dp_shard", 2}, {"replica", 4}, {"tp", 2}}));
  EXPECT_EQ(groups, (std::map<std::string, std::int64_t>{
                        {"dp", 2}, {"dp_replicate", 4}, {"dp_shard", 4}, {"replica", 2}, {"tp", 4}}));
  // Two micro-batches of embedding, 6 blocks and head: what backward needs again, but for the last block, is gathered
  // twice, and each unit is reduced once.
  EXPECT_EQ(times["all_gather dp_shard"], 2 * (1 + 5 * 2 + 1 + 1));
  EXPECT_EQ(times["reduce_scatter dp_shard"], 2 * 8);
}

TEST(Commbench, OneRankMeasuresWhatARunHasItExchange) {
  const std::string run = run_options + " --train.global_batch 2 --iterations 1 --row-seconds 1";
  const auto file = measured(1, run + " --parallel.one_rank_exchange true");
  std::map<std::string, std::int64_t> times;
  for (const auto& row : file["rows"]) {
    expect_whole(row);
    EXPECT_EQ(row["ranks"], 1);
    times[row["collective"].get<std::string>() + " " + row["group"].get<std::string>()] +=
        row["times_per_step"].get<std::int64_t>();
  }
  EXPECT_EQ(times["all_gather dp_shard"], 2 * (1 + 5 * 2 + 1 + 1)) << "as of several ranks";
  EXPECT_EQ(times["reduce_scatter dp_shard"], 2 * 8);

  const CommandResult without = launch(1, run);
  EXPECT_EQ(without.exit_code, 0) << without.all();
  EXPECT_NE(without.out.find("one rank: a step sends nothing"), std::string::npos) << without.all();
}

TEST(Commbench, AsynchronousTensorParallelismSendsParts) {
  const auto file = measured(4, run_options +
                                    " --parallel.tp 2 --parallel.async_tp true --train.global_batch 2 "
                                    "--iterations 1 --row-seconds 1");
  bool sends = false;
  for (const auto& row : file["rows"]) sends = sends || (row["collective"] == "send" && row["group"] == "tp");
  EXPECT_TRUE(sends);
}

TEST(Commbench, PairsMeasureEveryOther) {
  const auto file = measured(5, "--pairs ranks --pair-size 10K --iterations 2 --tolerance 1000000");
  const auto& pairs = file["pairs"];
  EXPECT_EQ(pairs["names"].size(), 5U);
  for (const char* matrix : {"both_ways_us", "one_way_us"}) {
    for (std::size_t a = 0; a < 5; ++a) {
      for (std::size_t b = 0; b < 5; ++b) {
        if (a == b) {
          EXPECT_TRUE(pairs[matrix][a][b].is_null());
        } else {
          EXPECT_GT(pairs[matrix][a][b], 0) << a << " " << b;
        }
      }
    }
  }
  const bool cores_for_all = std::thread::hardware_concurrency() >= 5;
  EXPECT_EQ(pairs["judged"], cores_for_all);
  EXPECT_EQ(file["provenance"]["ranks_share_cores"], !cores_for_all);
  EXPECT_EQ(pairs["sweeps"], 1);
  EXPECT_TRUE(pairs["slow"].empty());
}

TEST(Commbench, TooFewPairsAreNotJudged) {
  for (const int ranks : {2, 3}) {
    const test::TempFolder folder;
    const CommandResult r = launch(
        ranks, "--pairs ranks --pair-size 10K --iterations 2 --tolerance 1.0000001 --output " + folder / "rows.json");
    EXPECT_EQ(r.exit_code, 0) << r.all();
    EXPECT_NE(r.out.find("too few pairs to judge"), std::string::npos) << r.out;
    EXPECT_EQ(r.out.find("SLOW"), std::string::npos) << r.out;
    const nlohmann::json pairs = json_of(folder / "rows.json")["pairs"];
    EXPECT_FALSE(pairs["judged"]);
    EXPECT_TRUE(pairs["threshold"].is_null() && pairs["typical_us"].is_null() && pairs["slow"].empty());
  }
}

/// The sweep of pairs of 3 ranks where the last byte of each message of so many bytes from rank 2 to rank 1 is wrong.
nlohmann::json with_wrong_byte(int bytes) {
  const test::TempFolder folder;
  const CommandResult r = run_command(
      fmt::format("OMP_NUM_THREADS=1 OCTET_WRONG_SEND=2:1:{} LD_PRELOAD={} exec mpiexec -n 3 {} --pairs ranks "
                  "--pair-size 10001 --iterations 2 --output {}",
                  bytes, OCTET_WRONG_SEND, program, folder / "rows.json"),
      240);
  EXPECT_EQ(r.exit_code, bytes == 0 ? 0 : 76) << r.all();
  EXPECT_EQ(r.out.find("WRONG: ") != std::string::npos, bytes > 0) << r.out;
  EXPECT_NE(r.out.find(bytes == 0 ? "Out of bounds values : 0 OK" : " FAILED"), std::string::npos) << r.out;
  return json_of(folder / "rows.json")["pairs"];
}

TEST(Commbench, AWrongByteBetweenAPairIsFound) {
  EXPECT_TRUE(with_wrong_byte(0)["wrong"].empty());
  // Before and after the timed transfers: both ways at once and one way; or the answer of one byte.
  for (const auto& [length, wrong] : {std::pair(10001, 4), std::pair(1, 2)}) {
    const nlohmann::json pairs = with_wrong_byte(length);
    ASSERT_EQ(pairs["wrong"].size(), 1U) << length;
    EXPECT_EQ(pairs["wrong"][0]["from"], pairs["names"][2]);
    EXPECT_EQ(pairs["wrong"][0]["to"], pairs["names"][1]);
    EXPECT_EQ(pairs["wrong"][0]["bytes"], wrong);
  }
}

TEST(Commbench, LargerSizesAreLeftOutWhenOneTakesTooLong) {
  const CommandResult r = launch(2, "--collective all_reduce --min 1M --max 1G --row-seconds 0.00001");
  EXPECT_EQ(r.exit_code, 0) << r.all();
  EXPECT_NE(r.out.find("larger sizes are left out"), std::string::npos) << r.out;
}

TEST(Commbench, AStoppedRankEndsAllWithTheReason) {
  const CommandResult r = run_command(
      "OMP_NUM_THREADS=1 exec mpiexec -n 3 sh -c 'if [ $PMI_RANK = 1 ]; then (sleep 2; kill -STOP $$; sleep 30; kill "
      "-KILL $$) & fi; exec " +
      program + " --collective all_reduce --min 1M --max 1M --iterations 1000000 --row-seconds 500 --timeout 2'");
  EXPECT_FALSE(r.timed_out) << r.all();
  EXPECT_NE(r.exit_code, 0);
  EXPECT_NE(r.err.find("in group world"), std::string::npos) << r.err;
}

TEST(Commbench, ALauncherOfAnotherMpiIsRefused) {
  const CommandResult r = run_command("OMPI_COMM_WORLD_SIZE=4 " + program + " --sizes 1K");
  EXPECT_EQ(r.exit_code, 64) << r.all();
  EXPECT_NE(r.err.find("Open MPI's mpirun started 4 processes"), std::string::npos) << r.all();
}

TEST(Commbench, WrongCommandsAreRefused) {
  const auto refuses = [](const std::string& arguments, const std::string& reason, int ranks = 2) {
    const CommandResult r = launch(ranks, arguments);
    EXPECT_EQ(r.exit_code, 64) << arguments << "\n" << r.all();
    EXPECT_NE(r.err.find(reason), std::string::npos) << arguments << "\n" << r.err;
  };
  refuses("--mn 8", "nearest");
  refuses("--min 8Q", "--min = \"8Q\": expected bytes");
  refuses("--min 1M --max 8", "--min 1M is above --max 8");
  refuses("--collective scan", "\"scan\" is none");
  refuses("run.yaml", "--config run.yaml");
  refuses("--parallel.tp 2", "needs --config RUN.yaml");
  refuses("--config none.yaml", "none.yaml");
  refuses("--pairs nodes", "expected two nodes at least");
  refuses("--max 1P", "--max = \"1P\": expected bytes");
  refuses("--pairs ranks --pair-size 0", "--pair-size = \"0\": expected bytes");
  refuses("--json a.json --output b.json", "--json a.json, --output b.json: expected one of both");
  refuses("-g 2", "-g 2 (--ngpus of nccl-tests): expected 1: a rank has one GPU");
  refuses("--columns octet --pairs ranks", "--columns is of the sweep");
  refuses("--collective all_reduce --min 512G --max 512G", "take 1.0 TiB each");
  refuses("--collective all_reduce --min 512G --max 512G --columns octet", "take 512.0 GiB each");
  refuses("--pairs ranks --pair-size 512G", "take 1.0 TiB each");
  refuses("--compare-mpi --pairs ranks", "expected --sweep");
  refuses("--max 1M --pairs ranks", "--max is of the sweep, which is not measured: expected --sweep too");
  refuses("--pairs ranks --warmup 3", "--warmup is of the sweep and of --config, which is not measured");
  refuses("--ranks-per-gpu 2", "--ranks-per-gpu is of NCCL, which is not measured: expected --device cuda too");
  refuses("--iterations 0", "--iterations = 0: expected integer >= 1");
  refuses("--timeout -1", "--timeout = -1: expected number > 0");
  refuses("--dtype half", "--dtype = \"half\": expected one of float, bfloat16, int32, uint8");
  refuses("--max -8", "--max = \"-8\": expected bytes");
  refuses("--tolerance 2", "--tolerance is of the sweep of pairs");
  refuses(run_options + " --parallel.tp 3", "parallel");
  refuses(run_options + " --parallel.pp 2", "parallel.pp = 2: what stages send each other is not measured");
}

TEST(Commbench, AFileThatCannotBeWrittenIsRefusedBeforeMeasuring) {
  const std::string long_run =
      "--collective all_reduce --min 1M --max 1M --iterations 1000000 --row-seconds 500 --json ";
  for (const std::string path : {"/none/rows.json", "/tmp"}) {
    const CommandResult r = launch(2, long_run + path, 60);
    EXPECT_EQ(r.exit_code, 64) << r.all();
    EXPECT_NE(r.err.find("--json " + path + ": cannot be written: "), std::string::npos) << r.err;
    EXPECT_EQ(r.out, "");
  }
}

TEST(Commbench, ADeviceIsNoFileForTheRows) {
  const CommandResult r = launch(2, "--max 8 --json /dev/stdout");
  EXPECT_EQ(r.exit_code, 64) << r.all();
  const std::string reason = "it is no file that could be replaced by a whole one; expected the name of a file";
  EXPECT_NE(r.err.find("--json /dev/stdout: cannot be written: " + reason), std::string::npos) << r.err;
  EXPECT_EQ(r.out, "");
}

TEST(Commbench, AVariableThatIsNoUtf8DoesNotCostTheResults) {
  const test::TempFolder folder;
  const std::string path = folder / "rows.json";
  ::setenv("NCCL_FOO", "a\xff", 1);
  const CommandResult r = launch(1, "--max 8 --iterations 1 --json " + path);
  ::unsetenv("NCCL_FOO");
  EXPECT_EQ(r.exit_code, 0) << r.all();
  EXPECT_EQ(json_of(path)["provenance"]["environment"]["NCCL_FOO"], "a\uFFFD");
}

TEST(Commbench, AnEarlierFileStaysUntilThereAreResults) {
  const test::TempFolder folder;
  const std::string path = folder / "rows.json";
  std::ofstream(path) << "earlier";
  const auto content = [&] {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(launch(2, "--collective all_reduce --min 512G --max 512G --output " + path).exit_code, 64);
  EXPECT_EQ(content(), "earlier");
  EXPECT_EQ(launch(2, "--max 8 --iterations 1 --output " + path).exit_code, 0);
  EXPECT_EQ(json_of(path)["octet_commbench"], 1);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / ""), {}), 1);
}

TEST(Commbench, CollectivesAreSpelledAsOthersSpellThem) {
  const CommandResult r = launch(2, "--collective allreduce,AllGather,reduce-scatter --max 8 --iterations 1");
  EXPECT_EQ(r.exit_code, 0) << r.err;
  for (const char* name : {"all_reduce", "all_gather", "reduce_scatter"}) {
    EXPECT_NE(r.out.find(name), std::string::npos) << name;
  }
}

TEST(Commbench, HelpShowsExamples) {
  const CommandResult r = launch(2, "--help");
  EXPECT_EQ(r.exit_code, 0);
  for (const char* text : {"mpiexec -n 4 octet-commbench --max 16M", "--compare-mpi", "--row-seconds", "--pairs",
                           "-b -e -f -n -w -c", "-h, --help", "--version", "70 when the machine failed it"}) {
    EXPECT_NE(r.out.find(text), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace octet::test
