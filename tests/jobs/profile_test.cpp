// train.profile: the files and the table of a real run.
#include <set>

#include "tests/jobs/job.h"

namespace octet::test {
namespace {

using Json = nlohmann::ordered_json;

Json read_json(const TrainedRun& run, const std::string& name) {
  return Json::parse(read_bytes(run.file(name)));
}

std::vector<Json> events_of(const TrainedRun& run, int rank, const std::string& kind) {
  std::vector<Json> events;
  const Json trace = read_json(run, fmt::format("profile-rank{}.json", rank));
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == kind) events.push_back(event);
  }
  return events;
}

std::set<std::string> thread_names(const TrainedRun& run) {
  std::set<std::string> names;
  for (const Json& event : events_of(run, 0, "M")) {
    if (event["name"] == "thread_name") names.insert(event["args"]["name"]);
  }
  return names;
}

const std::string profiled = "--train.steps 6 --train.profile 3-5 --comm.trace true";

TEST(ProfileRun, LeavesATraceOfEachRank) {
  const TrainedRun& run = finished(2, profiled);
  for (int rank = 0; rank < 2; ++rank) {
    const double wall = read_json(run, "profile.json")["ranks"][static_cast<std::size_t>(rank)]["wall"];
    std::set<std::string> kinds, phases, steps, groups;
    for (const Json& event : events_of(run, rank, "X")) {
      EXPECT_EQ(event["pid"], rank);
      EXPECT_GE(event["dur"], 0.0);
      constexpr double apart = 1e3;  // microseconds
      EXPECT_GE(event["ts"], -apart);
      EXPECT_LE(event["ts"].get<double>() + event["dur"].get<double>(), wall * 1e6 + apart);
      kinds.insert(event["cat"]);
      if (event["cat"] == "step") {
        steps.insert(event["name"]);
        continue;
      }
      phases.insert(event["args"]["phase"]);
      groups.insert(event["args"]["group"]);
    }
    EXPECT_EQ(kinds, (std::set<std::string>{"gemm", "attention", "memory_bound", "communication", "host", "step"}));
    EXPECT_EQ(phases, (std::set<std::string>{"data", "forward", "backward", "optimizer", "other"}));
    EXPECT_EQ(steps, (std::set<std::string>{"step 3", "step 4", "step 5"}));
    EXPECT_TRUE(groups.contains("dp_shard"));
  }
  EXPECT_FALSE(run.has("profile-rank2.json"));
}

TEST(ProfileRun, SecondsAddUpToTheWallTime) {
  const TrainedRun& run = finished(2, profiled);
  const Json profile = read_json(run, "profile.json");
  EXPECT_EQ(profile["steps"], (Json{3, 5}));
  ASSERT_EQ(profile["ranks"].size(), 2u);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const Json& one = profile["ranks"][rank];
    EXPECT_EQ(one["rank"], rank);
    EXPECT_NE(one["node"], "");
    double sum = 0;
    for (const auto& [name, seconds] : one["seconds"].items()) {
      EXPECT_GE(seconds, 0.0) << name;
      if (name != "overlapped_communication") sum += seconds.get<double>();
    }
    EXPECT_EQ(one["seconds"].size(), 7u);
    EXPECT_NEAR(sum, one["wall"], 1e-9);
    EXPECT_GT(one["seconds"]["gemm"], 0.0);
  }
}

/// The summary's list holds what the trace of rank 0 holds, and its collectives those of comm.trace.
TEST(ProfileRun, TheListIsThatOfTheSpans) {
  const TrainedRun& run = finished(2, profiled);
  std::map<std::string, std::int64_t> calls, bytes;
  for (const Json& event : events_of(run, 0, "X")) {
    if (event["cat"] == "step") continue;
    const std::string key =
        fmt::format("{} {}", event["name"].get<std::string>(), event["args"]["phase"].get<std::string>());
    ++calls[key];
    bytes[key] += event["args"]["bytes"].get<std::int64_t>();
  }
  double last = 1e300, carried = 0;
  const Json profile = read_json(run, "profile.json");
  EXPECT_EQ(profile["kernels"].size(), calls.size());
  for (const Json& kernel : profile["kernels"]) {
    const std::string key = fmt::format("{} {}", kernel["name"].get<std::string>(), kernel["phase"].get<std::string>());
    EXPECT_EQ(kernel["calls"], calls[key]) << key;
    EXPECT_EQ(kernel["bytes"], bytes[key]) << key;
    EXPECT_LE(kernel["seconds"], last) << "largest first";
    last = kernel["seconds"];
    if (kernel["kind"] == "communication") carried += kernel["bytes"].get<double>();
  }
  EXPECT_EQ(profile["communication"]["bytes"], carried);
  // Gathers of a step are alike: those of three steps are half of all six's.
  double gathered = 0, traced = 0;
  for (const Json& kernel : profile["kernels"]) {
    if (kernel["name"] == "all_gather") gathered += kernel["bytes"].get<double>();
  }
  for (const Json& line : run.lines("trace-rank0.jsonl")) {
    if (line["operation"] == "all_gather" && line["group"] == "dp_shard") traced += line["bytes"].get<double>();
  }
  EXPECT_GT(gathered, 0);
  EXPECT_LE(gathered, traced / 2);  // the trace has the validation's too
}

/// Both stages of a pipeline have their passes and their messages, and the time that they wait for one another.
TEST(ProfileRun, OfAPipelineHasItsStages) {
  const TrainedRun& run = finished(2, profiled + " --parallel.pp 2 --train.micro_batch 3");
  const std::set<std::string> units[] = {{"block.0"}, {"block.1", "head"}};
  for (int rank = 0; rank < 2; ++rank) {
    std::set<std::string> forward, backward, messages;
    for (const Json& event : events_of(run, rank, "X")) {
      if (event["cat"] == "step") continue;
      const std::string phase = event["args"]["phase"];
      if (event["cat"] == "gemm") (phase == "forward" ? forward : backward).insert(event["args"]["unit"]);
      const std::string group = event["args"]["group"];
      if (event["args"]["bytes"] > 0 && group.starts_with("pp_")) messages.insert(group);
    }
    EXPECT_EQ(forward, units[rank]);
    EXPECT_EQ(backward, units[rank]);
    EXPECT_EQ(messages, (std::set<std::string>{"pp_down", "pp_up"}));
    const Json one = read_json(run, "profile.json")["ranks"][static_cast<std::size_t>(rank)];
    double sum = 0;
    for (const auto& [name, seconds] : one["seconds"].items()) {
      if (name != "overlapped_communication") sum += seconds.get<double>();
    }
    EXPECT_NEAR(sum, one["wall"], 1e-9);
  }
}

TEST(ProfileRun, PrintsATable) {
  const CommandResult& r = finished(2, profiled).result;
  EXPECT_HAS(r.err, "profile of steps 3 to 5, 2 rank(s)");
  for (const char* kind : {"gemm", "attention", "memory bound", "exposed communication", "overlapped communication",
                           "host", "idle", "wall", "collectives of rank 0 a step:"}) {
    EXPECT_HAS(r.err, std::string("\n") + kind + " ");
  }
  EXPECT_EQ(occurrences(r.err, "profile of steps"), 1) << "rank 0 alone";
}

TEST(ProfileRun, ChangesNoBit) {
  const TrainedRun& with = finished(2, profiled);
  const TrainedRun& without = finished(2, "--train.steps 6 --comm.trace true");
  EXPECT_EQ(with.losses(), without.losses());
  EXPECT_EQ(with.losses("grad_norm"), without.losses("grad_norm"));
  EXPECT_FALSE(without.has("profile.json"));
  EXPECT_FALSE(without.has("profile-rank0.json"));
}

TEST(ProfileRun, StreamsHaveNames) {
  EXPECT_EQ(thread_names(finished(2, profiled)), (std::set<std::string>{"host", "model", "control"}));
  const TrainedRun run = train(2, "--train.steps 3 --train.profile 2-3 --parallel.overlap true");
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  EXPECT_EQ(thread_names(run), (std::set<std::string>{"host", "model", "gathers", "reductions", "control"}));
  std::map<int, std::set<std::string>> names;
  for (const Json& event : events_of(run, 0, "X")) {
    if (event["cat"] == "communication" && event["args"]["group"] == "dp_shard") {
      names[event["tid"]].insert(event["name"]);
    }
  }
  EXPECT_EQ(names[2], std::set<std::string>{"all_gather"});
  EXPECT_EQ(names[3], std::set<std::string>{"reduce_scatter"});
}

TEST(ProfileRun, ARunThatGoesOnBehindItProfilesNothingAndSaysSo) {
  const std::string saving = " --checkpoint.interval 1000000";
  const TrainedRun first = train(1, "--train.steps 3" + saving);
  ASSERT_EQ(first.result.exit_code, 0) << first.result.all();
  const TrainedRun behind = train_in(first.directory, 1, "--train.steps 5 --train.profile 2-3" + saving);
  ASSERT_EQ(behind.result.exit_code, 0) << behind.result.all();
  EXPECT_HAS(behind.result.err, "train.profile = 2-3: the run goes on after step 3; nothing is profiled");
  EXPECT_FALSE(behind.has("profile.json"));
  const TrainedRun within = train_in(first.directory, 1, "--train.steps 8 --train.profile 4-7" + saving);
  ASSERT_EQ(within.result.exit_code, 0) << within.result.all();
  EXPECT_EQ(read_json(within, "profile.json")["steps"], (Json{6, 7}));
}

TEST(ProfileRun, ARunThatStopsEarlierWritesWhatThereIs) {
  // A limit in the past stops a run after its first step.
  const std::string early = "--train.steps 9 --train.max_wall_time 0.0001 --train.profile ";
  const TrainedRun before = train(1, early + "4-5");
  EXPECT_HAS(before.result.err, "train.profile = 4-5: the run ends after step 1; nothing was profiled");
  EXPECT_FALSE(before.has("profile.json"));
  const TrainedRun within = train(1, early + "1-5");
  EXPECT_EQ(read_json(within, "profile.json")["steps"], (Json{1, 1}));
}

}  // namespace
}  // namespace octet::test
