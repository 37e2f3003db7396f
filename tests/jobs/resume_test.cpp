// Runs that are cut off and go on: the same training as if nothing had happened.
#include "checkpoints/format/hash.h"
#include "checkpoints/format/manifest.h"
#include "tests/jobs/endless_run.h"
#include "tests/jobs/saved.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

struct Layout {
  int ranks;
  std::string arguments;
};
const std::string replicas = " --parallel.dp_replicate 2";
const std::vector<Layout> layouts = {{1, ""}, {2, ""}, {3, ""}, {4, replicas}};
const std::string never_due = " --checkpoint.interval 1000000";  // so that the last step's is the only one

class KilledRun : public testing::TestWithParam<const char*> {};

TEST_P(KilledRun, GoesOnToTheSameBits) {
  for (const Layout& layout : layouts) {
    SCOPED_TRACE(fmt::format("{} rank(s){}", layout.ranks, layout.arguments));
    const std::string same = fmt::format("--train.micro_batch 1 --precision {}{}", GetParam(), layout.arguments);
    EndlessRun endless(same + " --checkpoint.interval 10", layout.ranks);
    endless.wait_until([&] { return !checkpoints_of(endless.run()).empty(); });
    const TrainedRun killed = endless.end_by_kill();
    ASSERT_NE(killed.result.exit_code, 0);
    ASSERT_FALSE(steps_of(killed).empty());
    const std::int64_t saved = steps_of(killed).front();
    EXPECT_EQ(saved % 10, 0);

    const std::string steps = fmt::format(" --train.steps {}", saved + 10);
    const TrainedRun resumed = train_in(killed.directory, layout.ranks, fmt::format("{}{}{}", same, steps, never_due));
    ASSERT_EQ(resumed.result.exit_code, 0) << resumed.result.all();
    EXPECT_HAS(resumed.result.err, fmt::format("step-{:06}: step {}, loss ", saved, saved));
    const TrainedRun& whole = finished(layout.ranks, fmt::format("{}{}{}", same, steps, never_due));
    expect_whole_until(resumed, saved + 10);
    for (const char* key : {"loss", "grad_norm", "lr", "tokens", "validation_loss"}) {
      EXPECT_EQ(resumed.losses(key), whole.losses(key)) << key;
    }
    ASSERT_EQ(steps_of(resumed).front(), saved + 10);
    expect_same_tensors(checkpoints_of(resumed).front(), checkpoints_of(whole).front());
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, KilledRun, testing::Values("fp32", "bf16", "float8"),
                         [](const auto& one) { return std::string(one.param); });

/// A copy of a run that others go on from.
TrainedRun copy_of(const TrainedRun& run) {
  const std::string directory = new_run_directory();
  fs::copy(workplace() / run.directory, workplace() / directory, fs::copy_options::recursive);
  return {run.result, directory};
}

const std::string ten_steps = "--train.steps 10 --train.micro_batch 1 --precision fp32" + never_due;

TEST(Resuming, WithAnotherZeroGoesOn) {
  const std::string same = "--train.micro_batch 1 --precision bf16" + never_due;
  const TrainedRun& first = finished(2, same + " --train.steps 10");
  const TrainedRun& whole = finished(2, same + " --train.steps 20");
  for (const char* zero : {"2", "1"}) {
    SCOPED_TRACE(zero);
    const TrainedRun run = copy_of(first);
    const TrainedRun resumed = train_in(run.directory, 2, same + " --train.steps 20 --parallel.zero " + zero);
    ASSERT_EQ(resumed.result.exit_code, 0) << resumed.result.all();
    EXPECT_HAS(resumed.result.err, std::string("parallel.zero auto -> ") + zero);
    expect_whole_until(resumed, 20);
    if (zero == std::string("2")) {
      EXPECT_EQ(resumed.losses(), whole.losses());
      expect_same_tensors(checkpoints_of(resumed).front(), checkpoints_of(whole).front());
    } else {
      EXPECT_HAS(resumed.result.err, "since parallel.zero changed, losses go on within rounding");
      EXPECT_LT(distance(resumed.losses(), whole.losses()), 5e-4);
    }
  }
}

/// Of one shard, whose gradients stay in bf16 for the optimizer, and of several. Checkpoints hold none of them.
TEST(Resuming, WithGradientsInBf16GoesOnToTheSameBits) {
  for (const Layout& layout : {Layout{1, "--train.micro_batch 12"},
                               {2, "--train.micro_batch 12 --parallel.tp 2"},
                               {2, "--train.micro_batch 3"}}) {
    SCOPED_TRACE(fmt::format("{} rank(s) {}", layout.ranks, layout.arguments));
    const std::string same = layout.arguments + " --precision float8 --parallel.gradient_wire bf16" + never_due;
    const TrainedRun& first = finished(layout.ranks, same + " --train.steps 10");
    const TrainedRun& whole = finished(layout.ranks, same + " --train.steps 20");
    EXPECT_HAS(first.result.err, "gradients of the blocks' linears leave their GEMMs in bf16");
    const TrainedRun run = copy_of(first);
    const TrainedRun resumed = train_in(run.directory, layout.ranks, same + " --train.steps 20");
    ASSERT_EQ(resumed.result.exit_code, 0) << resumed.result.all();
    expect_whole_until(resumed, 20);
    EXPECT_EQ(resumed.losses(), whole.losses());
    EXPECT_EQ(resumed.losses("grad_norm"), whole.losses("grad_norm"));
    expect_same_tensors(checkpoints_of(resumed).front(), checkpoints_of(whole).front());
  }
}

TEST(Resuming, OfEightRanksOnOtherLayoutsGoesOnWithinRounding) {
  const std::string same = "--train.global_batch 24 --train.micro_batch 1 --precision fp32" + never_due;
  const TrainedRun& first = finished(8, same + " --train.steps 10");
  const TrainedRun& whole = finished(8, same + " --train.steps 20");
  std::vector<Layout> others = {{1, ""}, {3, ""}, {6, replicas}, {4, " --parallel.tp 2"}};
  if (is_long()) others.insert(others.end(), {{2, ""}, {4, ""}, {4, replicas}, {6, ""}});
  for (const Layout& layout : others) {
    SCOPED_TRACE(fmt::format("{} rank(s){}", layout.ranks, layout.arguments));
    const TrainedRun run = copy_of(first);
    const TrainedRun resumed = train_in(run.directory, layout.ranks, same + " --train.steps 20" + layout.arguments);
    ASSERT_EQ(resumed.result.exit_code, 0) << resumed.result.all();
    EXPECT_HAS(resumed.result.err, "layout: dp_replicate 1 x dp_shard 8 x tp 1 there, ");
    expect_whole_until(resumed, 20);
    EXPECT_LT(distance(resumed.losses(), whole.losses()), 1e-5);
    EXPECT_LT(distance({resumed.losses("validation_loss").back()}, whole.losses("validation_loss")), 1e-5);
  }
}

TEST(Resuming, OfTensorParallelRanksOnOtherLayoutsGoesOnWithinRounding) {
  const std::string same = "--precision fp32 --train.micro_batch 1" + never_due;
  const TrainedRun& first = finished(4, same + " --parallel.tp 2 --train.steps 10");
  const TrainedRun& whole = finished(1, same + " --train.steps 20");
  for (const Layout& layout : std::vector<Layout>{{2, " --parallel.tp 2"}, {3, ""}}) {
    SCOPED_TRACE(fmt::format("{} rank(s){}", layout.ranks, layout.arguments));
    const TrainedRun run = copy_of(first);
    const TrainedRun resumed = train_in(run.directory, layout.ranks, same + " --train.steps 20" + layout.arguments);
    ASSERT_EQ(resumed.result.exit_code, 0) << resumed.result.all();
    EXPECT_HAS(resumed.result.err, "layout: dp_replicate 1 x dp_shard 2 x tp 2 there, ");
    expect_whole_until(resumed, 20);
    EXPECT_LT(distance(resumed.losses(), whole.losses()), 2e-5);
  }
}

TEST(Resuming, WhatCameAfterTheCheckpointIsDoneAgainAndItsLinesAreKeptApart) {
  TrainedRun run = copy_of(finished(2, "--train.steps 12 --checkpoint.interval 5"));
  EXPECT_EQ(steps_of(run), (std::vector<std::int64_t>{12, 10, 5}));
  fs::remove_all(checkpoints_of(run).front());
  const std::vector<double> before = run.losses();
  run = train_in(run.directory, 2, "--train.steps 15 --checkpoint.interval 5");
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  expect_whole_until(run, 15);
  const std::vector<double> after = run.losses();
  EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
  const auto discarded = run.lines("metrics.discarded.jsonl");
  ASSERT_EQ(discarded.size(), 2u);
  EXPECT_EQ(discarded[0]["step"], 11);
  EXPECT_EQ(discarded[1]["step"], 12);
  EXPECT_EQ(discarded[1]["restarts"], 0);
  for (const auto& line : run.metrics()) EXPECT_EQ(line["restarts"], line["step"] > 10 ? 1 : 0);
  EXPECT_EQ(run.status()["restarts"], 1);
  EXPECT_HAS(run.result.err, "restart 1, after step 10; 2 line(s) of later steps moved to metrics.discarded.jsonl");
  EXPECT_EQ(steps_of(run), (std::vector<std::int64_t>{15, 10, 5}));
  EXPECT_EQ(std::distance(fs::directory_iterator(run.file("tensorboard")), fs::directory_iterator()), 2);
  EXPECT_HAS(read_bytes(run.file("config.yaml")), "steps: 15");
}

TEST(Resuming, AFinishedRunHasNothingLeftToDo) {
  TrainedRun run = copy_of(finished(1, ten_steps));
  const std::string metrics = read_bytes(run.file("metrics.jsonl")), status = read_bytes(run.file("status.json"));
  const auto event_files = [&] {
    return std::distance(fs::directory_iterator(run.file("tensorboard")), fs::directory_iterator());
  };
  const auto files = event_files();
  for (int start = 0; start < 2; ++start) {
    run = train_in(run.directory, 1, ten_steps);
    EXPECT_EQ(run.result.exit_code, 0) << run.result.all();
    EXPECT_HAS(run.result.err, "finished after step 10: all steps done; nothing was left to do");
    EXPECT_EQ(read_bytes(run.file("metrics.jsonl")), metrics);
    EXPECT_EQ(read_bytes(run.file("status.json")), status) << "when it ended, and how often it was resumed";
    EXPECT_EQ(event_files(), files);
  }
}

TEST(Resuming, AFinishedRunKeepsFewerCheckpointsWhenItIsToldTo) {
  TrainedRun run = train(2, "--train.steps 8 --checkpoint.interval 2 --checkpoint.keep 4");
  ASSERT_EQ(steps_of(run), (std::vector<std::int64_t>{8, 6, 4, 2})) << run.result.all();
  run = train_in(run.directory, 2, "--train.steps 8 --checkpoint.interval 2 --checkpoint.keep 2");
  EXPECT_EQ(run.result.exit_code, 0) << run.result.all();
  EXPECT_EQ(steps_of(run), (std::vector<std::int64_t>{8, 6}));
}

TEST(Resuming, ARequestToStopThatAFinishedRunGotIsNotForALaterStart) {
  TrainedRun run = train(1, ten_steps);
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  write_bytes(run.file("stop"), "");
  run = train_in(run.directory, 1, ten_steps);
  EXPECT_EQ(run.result.exit_code, 0) << run.result.all();
  EXPECT_FALSE(run.has("stop"));
}

/// Exit code 64 with one message that has these parts; the run's files are as they were.
void expect_refused(const std::string& directory, const std::string& arguments, const std::vector<std::string>& parts) {
  SCOPED_TRACE(arguments);
  const TrainedRun before{{}, directory};
  const std::string metrics = before.has("metrics.jsonl") ? read_bytes(before.file("metrics.jsonl")) : "";
  const TrainedRun run = train_in(directory, 2, arguments);
  EXPECT_EQ(run.result.exit_code, 64) << run.result.all();
  EXPECT_EQ(occurrences(run.result.err, " E "), 1) << run.result.err;
  for (const std::string& part : parts) EXPECT_HAS(run.result.err, part);
  EXPECT_EQ(run.has("metrics.jsonl") ? read_bytes(run.file("metrics.jsonl")) : "", metrics);
}

TEST(Resuming, NeverMustAuto) {
  const TrainedRun& saved = finished(2, ten_steps);
  const TrainedRun unsaved = train(2, "--train.steps 2");
  ASSERT_EQ(unsaved.result.exit_code, 0);
  const std::string more =
      "--train.micro_batch 1 --precision fp32 --train.steps 12" + never_due + " --checkpoint.resume ";

  expect_refused(copy_of(saved).directory, more + "never", {"holds a run already", "--checkpoint.resume auto"});
  expect_refused(unsaved.directory, "--checkpoint.resume never", {"holds a run already (metrics.jsonl)"});
  expect_refused(unsaved.directory, "--checkpoint.resume auto", {"holds a run already", "no checkpoint"});
  expect_refused(unsaved.directory, "--checkpoint.resume must", {"checkpoint.resume = must", "no checkpoint in "});
  const std::string nowhere = new_run_directory();
  expect_refused(nowhere, "--checkpoint.resume must", {"checkpoint.resume = must", nowhere + "/checkpoints"});
  EXPECT_FALSE(fs::exists(workplace() / nowhere));

  for (const char* resume : {"auto", "must"}) {
    const TrainedRun run = train_in(copy_of(saved).directory, 2, more + resume);
    EXPECT_EQ(run.result.exit_code, 0) << run.result.all();
    expect_whole_until(run, 12);
  }
  EXPECT_EQ(train(1, "--train.steps 1 --checkpoint.resume never" + never_due).result.exit_code, 0);
}

TEST(Resuming, AnotherTrainingIsRefused) {
  const std::string directory = copy_of(finished(2, ten_steps)).directory;
  const std::string same = "--train.steps 20 --train.micro_batch 1" + never_due + " ";
  expect_refused(directory, same + "--precision bf16", {"step-000010: precision = fp32 there, bf16 now"});
  expect_refused(directory, same + "--precision fp32 --optimizer.lr 0.5", {"optimizer.lr = 0.003 there, 0.5 now"});
  expect_refused(directory, same + "--precision fp32 --run.seed 2", {"run.seed = 1 there, 2 now"});
  expect_refused(directory, same + "--precision fp32 --train.global_batch 24", {"train.global_batch = 12 there, 24"});
  expect_refused(directory, "--train.steps 9 --precision fp32 --train.micro_batch 1" + never_due,
                 {"is of step 10, beyond train.steps = 9"});

  std::string model = tiny_model;
  write_bytes(workplace() / "theta.yaml", model + "rope_theta: 1234\n");
  expect_refused(directory, same + "--precision fp32 --model ./theta.yaml",
                 {"model_shape.rope_theta = 500000 there, 1234"});

  std::string tokens = read_bytes(workplace() / "data/text.bin");
  tokens[5] = tokens[5] == 'a' ? 'b' : 'a';
  write_bytes(workplace() / "data/other.bin", tokens);
  write_bytes(workplace() / "data/other.idx", read_bytes(workplace() / "data/text.idx"));
  expect_refused(directory, same + "--precision fp32 --data.train data/other",
                 {"the data are not the same", "data/other"});

  // The same data elsewhere are the same data.
  write_bytes(workplace() / "data/moved.bin", read_bytes(workplace() / "data/text.bin"));
  write_bytes(workplace() / "data/moved.idx", read_bytes(workplace() / "data/text.idx"));
  const TrainedRun moved = train_in(directory, 2, same + "--precision fp32 --data.train data/moved");
  EXPECT_EQ(moved.result.exit_code, 0) << moved.result.all();
  EXPECT_HAS(moved.result.err, "train.steps 10 -> 20");
}

TEST(Resuming, OtherDataAreRefusedByTheNamesOfAllSources) {
  const auto copy_data = [](const std::string& from, const std::string& to) {
    for (const char* end : {".bin", ".idx"}) {
      write_bytes(workplace() / ("data/" + to + end), read_bytes(workplace() / ("data/" + from + end)));
    }
  };
  copy_data("text", "second");
  const std::string both = ten_steps + " --data.train '[data/text, data/second]' ";
  const std::string directory = copy_of(finished(1, both)).directory;
  copy_data("text", "changed");
  std::string tokens = read_bytes(workplace() / "data/changed.bin");
  tokens[5] = tokens[5] == 'a' ? 'b' : 'a';
  write_bytes(workplace() / "data/changed.bin", tokens);
  expect_refused(directory, ten_steps + " --data.train '[data/text, data/changed]' ",
                 {"of data.train = data/text, data/changed (files, weights) and its order"});
}

TEST(Resuming, ADamagedCheckpointIsNamedAndTheOneBeforeServes) {
  const std::string arguments = "--train.steps 12 --checkpoint.interval 5";
  TrainedRun run = copy_of(finished(2, arguments));
  const std::string newest = checkpoints_of(run).front(), file = newest + "/writer-00001.h5";
  std::string bytes = read_bytes(file);
  bytes[bytes.size() / 2] ^= 1;
  write_bytes(file, bytes);
  run = train_in(run.directory, 2, arguments);
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  EXPECT_HAS(run.result.err, "step-000012 is DAMAGED");
  EXPECT_HAS(run.result.err, "step-000010: step 10, loss ");
  expect_whole_until(run, 12);
  EXPECT_EQ(run.losses(), finished(2, arguments).losses());
  expect_same_tensors(newest, checkpoints_of(finished(2, arguments)).front());  // written again
  EXPECT_EQ(read_bytes(newest + ".damaged/writer-00001.h5"), bytes);            // and the damaged one set aside
}

TEST(Resuming, ACheckpointOfANewerProgramIsRefusedAndStays) {
  const std::string arguments = "--train.steps 12 --checkpoint.interval 5";
  TrainedRun run = copy_of(finished(2, arguments));
  const std::string newest = checkpoints_of(run).front(), path = newest + "/manifest.json";
  std::string text = read_bytes(path);
  const std::string known = R"("version": 1)";
  text.replace(text.find(known), known.size(), R"("version": 3)");
  text.erase(text.rfind("\"xxh3_128\""));
  write_bytes(path, text + checkpoint::manifest_last_line(checkpoint::hash_of(text)));
  const std::vector<std::string> before = checkpoints_of(run);
  run = train_in(run.directory, 2, arguments);
  EXPECT_EQ(run.result.exit_code, 64) << run.result.all();
  EXPECT_HAS(run.result.err, "step-000012/manifest.json: of version 3, which this program does not know");
  EXPECT_EQ(run.result.err.find("DAMAGED"), std::string::npos) << run.result.err;
  EXPECT_EQ(checkpoints_of(run), before);
}

/// A run that is killed before its first checkpoint, whatever it has done by then.
TrainedRun killed_early(const std::string& arguments) {
  EndlessRun endless(arguments + never_due);
  TrainedRun killed = endless.end_by_kill();
  EXPECT_TRUE(checkpoints_of(killed).empty());
  return killed;
}

TEST(BeginningAgain, NotWhenStatusNamesACheckpointThatIsOutOfSight) {
  const TrainedRun run = copy_of(finished(1, ten_steps));
  fs::rename(run.file("checkpoints"), run.file("elsewhere"));
  std::string status = read_bytes(run.file("status.json"));
  status.replace(status.find("finished"), 8, "stopped");
  write_bytes(run.file("status.json"), status);
  const std::string metrics = read_bytes(run.file("metrics.jsonl"));
  const TrainedRun again = train_in(run.directory, 1, ten_steps);
  EXPECT_EQ(again.result.exit_code, 64) << again.result.all();
  EXPECT_HAS(again.result.err, "status.json names ");
  EXPECT_EQ(read_bytes(run.file("metrics.jsonl")), metrics);
  fs::create_symlink("checkpoints", run.file("checkpoints"));  // points to itself: cannot be looked at
  const TrainedRun loop = train_in(run.directory, 1, ten_steps);
  EXPECT_EQ(loop.result.exit_code, 70) << loop.result.all();
  EXPECT_HAS(loop.result.err, "cannot read ");
  EXPECT_EQ(read_bytes(run.file("metrics.jsonl")), metrics);
}

TEST(BeginningAgain, AStartThatDiedBeforeItsFirstCheckpoint) {
  const TrainedRun killed = killed_early("--precision fp32");
  const auto lost = killed.metrics().size();
  ASSERT_GE(lost, 3u);
  const TrainedRun run = train_in(killed.directory, 3, "--precision fp32 --train.steps 10" + never_due);
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  EXPECT_HAS(run.result.err, "BEGINNING AGAIN AT STEP 0");
  EXPECT_HAS(run.result.err, "train.steps 1000000 -> 10");
  expect_whole_until(run, 10);
  EXPECT_EQ(run.lines("metrics.discarded.jsonl").size(), lost);
  EXPECT_EQ(run.status()["restarts"], 1);
  EXPECT_EQ(run.losses(), finished(3, "--precision fp32 --train.steps 10" + never_due).losses());
}

TEST(BeginningAgain, AnotherRunAFinishedOneAndAnUnknownOneAreRefused) {
  const TrainedRun killed = killed_early("");
  const std::string more = "--train.steps 10" + never_due;
  expect_refused(killed.directory, more + " --optimizer.lr 0.5",
                 {killed.directory + "/config.yaml: optimizer.lr = 0.003 there, 0.5 now"});
  expect_refused(killed.directory, more + " --run.seed 3", {"run.seed = 1 there, 3 now"});
  write_bytes(workplace() / "same.yaml", tiny_model);
  expect_refused(killed.directory, more + " --model ./same.yaml",
                 {"config.yaml: model = ", "tiny.yaml there, ", "same.yaml now"});
  expect_refused(killed.directory, more + " --checkpoint.resume never", {"holds a run already (metrics.jsonl)"});
  expect_refused(killed.directory, more + " --checkpoint.resume must", {"checkpoint.resume = must"});
  fs::remove(killed.file("config.yaml"));
  expect_refused(killed.directory, more, {"holds a run already", "no checkpoint", "no config.yaml"});
  const TrainedRun unsaved = train(2, "--train.steps 2");
  expect_refused(unsaved.directory, "--train.steps 3", {"holds a run already", "it is finished"});
  const std::string status = read_bytes(unsaved.file("status.json"));
  write_bytes(unsaved.file("status.json"), status.substr(0, 20));
  expect_refused(unsaved.directory, "--train.steps 3", {"holds a run already", "its status.json cannot be read"});
  write_bytes(unsaved.file("status.json"), status);
  fs::remove(unsaved.file("metrics.jsonl"));
  expect_refused(unsaved.directory, "--train.steps 3", {"holds a run already (status.json)", "it is finished"});
}

TEST(Resuming, WithAllowedChangesIsSaidLoudly) {
  const TrainedRun& first = finished(2, ten_steps);
  const std::string more = "--train.steps 12 --train.micro_batch 1 --precision fp32 --optimizer.lr 0.5" + never_due;
  TrainedRun run = copy_of(first);
  expect_refused(run.directory, more,
                 {"optimizer.lr = 0.003 there, 0.5 now", "--checkpoint.allow_changes optimizer.lr"});
  expect_refused(run.directory, more + " --checkpoint.allow_changes optimizer.eps", {"optimizer.lr = 0.003 there"});
  expect_refused(run.directory, more + " --checkpoint.allow_changes '[optimizer.lr, run.seed]' --run.seed 4",
                 {"checkpoint.allow_changes = \"run.seed\"", "may never change"});
  expect_refused(run.directory, more + " --checkpoint.allow_changes optimizer.rl",
                 {"checkpoint.allow_changes", "nearest: optimizer.lr"});
  run = train_in(run.directory, 2, more + " --checkpoint.allow_changes optimizer.lr");
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  EXPECT_HAS(run.result.err, "checkpoint.allow_changes: optimizer.lr = 0.003 there, 0.5 now");
  expect_whole_until(run, 12);
  EXPECT_EQ(run.losses("lr").back(), 0.5);
  EXPECT_EQ(run.losses("lr")[9], 0.003);
}

const std::string short_wsd =
    "--schedule.kind wsd --schedule.warmup_steps 2 --schedule.decay_steps 4 --train.micro_batch 1 ";

TEST(Extending, WhatMayBeLongerHasTheBitsOfARunThatWas) {
  const std::string constant = "--schedule.kind constant --schedule.warmup_steps 2 --train.micro_batch 1 ";
  for (const std::string& same : {constant, short_wsd}) {
    SCOPED_TRACE(same);
    // wsd is stopped in the midst: its checkpoint of step 5 is before the decay by either number.
    TrainedRun run = copy_of(finished(2, same + "--train.steps 10 --checkpoint.interval 5"));
    if (same == short_wsd) {
      expect_refused(run.directory, fmt::format("{}--train.steps 16{}", same, never_due),
                     {"train.steps = 10 there, 16 now: step 7, which is done", "--schedule.extend rewarm"});
      fs::remove_all(checkpoints_of(run).front());
    }
    run = train_in(run.directory, 2, fmt::format("{}--train.steps 16{}", same, never_due));
    ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
    const TrainedRun& whole = finished(2, fmt::format("{}--train.steps 16{}", same, never_due));
    expect_whole_until(run, 16);
    for (const char* key : {"loss", "grad_norm", "lr"}) EXPECT_EQ(run.losses(key), whole.losses(key)) << key;
    expect_same_tensors(checkpoints_of(run).front(), checkpoints_of(whole).front());
  }
}

TEST(Extending, ADryRunRefusesWhatTheRunWould) {
  const TrainedRun& run = finished(2, short_wsd + "--train.steps 10 --checkpoint.interval 5");
  const std::vector<std::pair<std::string, std::string>> table = {
      {"--train.steps 10", ""},
      {"--train.steps 10 --run.seed 7", "step-000010: run.seed = 1 there, 7 now; the run can only go on with the same"},
      {"--train.steps 7", "step-000010: is of step 10, beyond train.steps = 7"},
  };
  for (const auto& [options, part] : table) {
    SCOPED_TRACE(options);
    const CommandResult dry = in_workplace(fmt::format("{} run.yaml --run.dir {} {}{} --dry-run --ranks 2", octet_train,
                                                       run.directory, short_wsd, options));
    EXPECT_EQ(dry.exit_code, part.empty() ? 0 : 64) << dry.all();
    EXPECT_HAS(dry.err, part);
  }
}

TEST(Extending, AFinishedOneGoesOnAsScheduleExtendHasItAndLaterStartsKnow) {
  const std::string saves = " --checkpoint.interval 4";
  TrainedRun run = copy_of(finished(2, short_wsd + "--train.steps 10 --checkpoint.interval 5"));
  const CommandResult dry = in_workplace(octet_train + " run.yaml --run.dir " + run.directory + " " + short_wsd +
                                         "--train.steps 18 --schedule.extend rewarm --dry-run --ranks 2");
  EXPECT_EQ(dry.exit_code, 0) << dry.all();
  EXPECT_HAS(dry.out, "learning rate: wsd over 10 step(s); then steps 11 to 18 warm up and decay again; goes on after");
  run = train_in(run.directory, 2, short_wsd + "--train.steps 18 --schedule.extend rewarm" + saves);
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  EXPECT_HAS(run.result.err, "learning rate, extended by schedule.extend: wsd over 10 step(s); then steps 11 to 18");
  const std::vector<double> whole = run.losses("lr"), losses = run.losses();
  ASSERT_EQ(whole.size(), 18u);
  EXPECT_EQ(std::vector(whole.begin(), whole.begin() + 10),
            finished(2, short_wsd + "--train.steps 10 --checkpoint.interval 5").losses("lr"));
  EXPECT_DOUBLE_EQ(whole[10], (whole[9] + 0.003) / 2);
  EXPECT_EQ(std::vector(whole.begin() + 11, whole.end()), std::vector(whole.begin() + 3, whole.begin() + 10));

  // A later start, from the midst of what was added, needs no schedule.extend for the same bits.
  fs::remove_all(checkpoints_of(run).front());
  run = train_in(run.directory, 2, short_wsd + "--train.steps 18" + saves);
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  EXPECT_EQ(run.losses("lr"), whole);
  EXPECT_EQ(run.losses(), losses);
  // And once more.
  run = train_in(run.directory, 2, short_wsd + "--train.steps 21 --schedule.extend constant" + saves);
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  const std::vector<double> longer = run.losses("lr");
  EXPECT_EQ(std::vector(longer.begin(), longer.begin() + 18), whole);
  EXPECT_EQ(std::vector(longer.begin() + 18, longer.end()), std::vector(3, whole.back()));
}

TEST(WritersPerNode, FewerFilesAndTheSameTensors) {
  const std::string ten = "--train.steps 10 --train.micro_batch 1 --precision fp32" + never_due;
  const std::string twenty = "--train.steps 20 --train.micro_batch 1 --precision fp32" + never_due;
  const TrainedRun& all = finished(4, ten + " --checkpoint.writers_per_node all");
  const TrainedRun& whole = finished(3, twenty);
  for (int writers = 0; writers <= 3; ++writers) {
    SCOPED_TRACE(writers);
    const std::string option = fmt::format(" --checkpoint.writers_per_node {}", writers);
    const TrainedRun& first = writers == 0 ? all : finished(4, ten + option);
    ASSERT_EQ(first.result.exit_code, 0) << first.result.all();
    const std::string newest = checkpoints_of(first).front();
    EXPECT_EQ(checkpoint::read_manifest(newest).files.size(), writers == 0 ? 4u : static_cast<std::size_t>(writers));
    EXPECT_TRUE(fs::exists(newest + "/view.h5"));
    expect_same_tensors(newest, checkpoints_of(all).front());
    if (writers != 0) {
      const TrainedRun resumed = train_in(copy_of(first).directory, 3, twenty + option);
      ASSERT_EQ(resumed.result.exit_code, 0) << resumed.result.all();
      expect_whole_until(resumed, 20);
      EXPECT_LT(distance(resumed.losses(), whole.losses()), 1e-5);
    }
  }
}

TEST(WritersPerNode, MoreThanRanksAreTheRanksAndNoneIsRefused) {
  const TrainedRun run = train(2, "--train.steps 2 --checkpoint.writers_per_node 5" + never_due);
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  EXPECT_HAS(run.result.err, "checkpoint.writers_per_node = 5, but this node has 2 rank(s)");
  EXPECT_EQ(checkpoint::read_manifest(checkpoints_of(run).front()).files.size(), 2u);
  expect_refused(new_run_directory(), "--checkpoint.writers_per_node 0",
                 {"checkpoint.writers_per_node = \"0\"", "expected all, or a number"});
}

}  // namespace
}  // namespace octet::test
