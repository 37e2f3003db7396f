// How the ranks of a run open its data: each pair validated by one rank, and nothing else opened before it is read.
#include "src/train/start/open_data.h"

#include <fstream>
#include <functional>
#include <optional>

#include "src/comm/control_exchange.h"
#include "src/comm/look_together.h"
#include "src/train/start/open_token_files.h"
#include "src/train/step/run_settings.h"
#include "src/train/step/step_works.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_has.h"
#include "tests/support/unlisted_folder.h"

namespace octet {
namespace {

class OpenData : public TrainerTest {
 protected:
  OpenData() {
    if (world_->rank() == 0) {
      for (int part = 1; part <= parts; ++part) write_part(part);
    }
    world_->barrier();
    config_.data.train = {{folder_ / "x", 1.0}, {write_documents(), 2.0}};
  }

  std::string prefix(int part) const { return folder_ / fmt::format("x-{:05}-of-{:05}", part, parts); }
  void write_part(int part) const {
    TokenFileWriter writer(prefix(part), TokenType::u8);
    for (std::int32_t document = 1; document <= 40; ++document) {
      writer.append(std::vector<std::int32_t>(static_cast<std::size_t>((document * part) % 23), document));
      writer.end_document();
    }
    writer.finish();
  }
  /// How many of this test's .idx files the process has mapped.
  int mapped_indexes() const {
    std::ifstream maps("/proc/self/maps");
    int found = 0;
    for (std::string line; std::getline(maps, line);) {
      found += line.find(folder_.string()) != std::string::npos && line.ends_with(".idx");
    }
    return found;
  }
  /// The message with which all ranks refuse the data alike.
  std::string refusal(ExitCode code = ExitCode::usage) {
    std::string text;
    try {
      open_data(config_, *world_);
      ADD_FAILURE() << "nothing thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_TRUE(error.agreed());
      text = error.what();
    }
    for (const std::string& other : gather_bytes(text, *world_)) EXPECT_EQ(other, text);
    return text;
  }
  /// On rank 0, the others wait.
  void change(const std::function<void()>& files) {
    world_->barrier();
    if (world_->rank() == 0) files();
    world_->barrier();
  }

  static constexpr int parts = 5;
};

TEST_F(OpenData, GivesTheSameBatchesAndFingerprintAsEachRankByItself) {
  config_.data.document_mask = true;
  const auto shared = open_data(config_, *world_);
  const Sampler alone(config_.data.train, sampler_config(config_));
  EXPECT_EQ(shared->fingerprint(), alone.fingerprint());
  const BatchLayout layout{world_->rank(), world_->size(), 1};
  for (std::int64_t step = 0; step < 6; ++step) {
    Batch a, b;
    shared->train_batch(step, layout, 0, a);
    alone.train_batch(step, layout, 0, b);
    EXPECT_EQ(a.tokens, b.tokens);
    EXPECT_EQ(a.targets, b.targets);
    EXPECT_EQ(a.document_begin, b.document_begin);
  }
}

TEST_F(OpenData, EachPairIsOpenedByOneRank) {
  const auto sampler = open_data(config_, *world_);
  std::int32_t pairs = 0;
  for (const TokenFile& file : sampler->files()) pairs += static_cast<std::int32_t>(file.pairs().size());
  EXPECT_EQ(pairs, parts + 1);
  std::int32_t mapped = mapped_indexes();
  EXPECT_LE(mapped, (pairs + world_->size() - 1) / world_->size());
  sampler->fingerprint();
  EXPECT_EQ(mapped_indexes(), mapped);
  world_->all_reduce(&mapped, 1, DType::i32, ReduceOp::sum);
  EXPECT_EQ(mapped, pairs);
}

/// The host with the lowest limit counts: here that of the last rank.
TEST_F(OpenData, MorePairsThanAProcessCanMapAreOneErrorOfAllRanks) {
  const auto as_it_is = [](const Error& error) { return error; };
  const std::vector<std::string> paths{(folder_ / "x").string()};
  const auto opened = [&](PairUse use, std::int32_t mappings) {
    const bool last = world_->rank() == world_->size() - 1;
    return open_token_files(paths, use, as_it_is, *world_, last ? 8192 + mappings : 1 << 20);
  };
  const std::string text = test::error_of([&] { opened(PairUse::documents, 2 * parts - 1); });
  EXPECT_HAS(text, "[data] 5 pairs of token files take 10 memory mappings");
  EXPECT_HAS(text, "a process may have 9 beside 8192");
  EXPECT_HAS(text, "vm.max_map_count 8201");
  EXPECT_HAS(text, "sysctl -w vm.max_map_count=8202");
  EXPECT_EQ(mapped_indexes(), 0);
  EXPECT_EQ(opened(PairUse::documents, 2 * parts).size(), 1u);
  const int validated = (parts + world_->size() - 1) / world_->size();
  EXPECT_EQ(opened(PairUse::tokens, parts + validated).size(), 1u);
  EXPECT_HAS(test::error_of([&] { opened(PairUse::tokens, parts + validated - 1); }), "5 pairs");
}

TEST_F(OpenData, ADamagedIndexIsOneErrorOfAllRanksThatNamesTheFile) {
  change([&] {
    for (const int part : {4, 2}) std::filesystem::resize_file(prefix(part) + ".bin", 3);
  });
  EXPECT_HAS(refusal(), fmt::format("[data] data.train: {}.bin has 3 bytes; expected", prefix(2)));
  change([&] { std::ofstream(prefix(2) + ".idx", std::ios::in | std::ios::binary) << "other"; });
  EXPECT_HAS(refusal(), prefix(2) + ".idx: not a Megatron index file");
}

TEST_F(OpenData, AMissingPartIsOneErrorOfAllRanks) {
  change([&] { std::filesystem::remove(prefix(3) + ".idx"); });
  EXPECT_HAS(refusal(), prefix(3) + ".idx is missing; 4 of 5 parts are there");
  config_.data.train = {{folder_ / "none", 1.0}};
  EXPECT_HAS(refusal(), fmt::format("cannot open {}.idx", (folder_ / "none").string()));
}

/// A file that one rank can look at, and then cannot open as it has to, is a matter of its host and no damage.
TEST_F(OpenData, WhatTheFileSystemDoesNotGiveIsNoMistakeInTheData) {
  const std::string cannot_be_mapped = "/sys/devices/system/cpu/possible";
  if (!std::filesystem::exists(cannot_be_mapped)) GTEST_SKIP() << "no sysfs";
  ASSERT_EQ(setenv("OCTET_TEST_PAUSES", "0.01", 1), 0);
  change([&] {
    std::filesystem::remove(prefix(2) + ".idx");
    std::filesystem::create_symlink(cannot_be_mapped, prefix(2) + ".idx");
  });
  const std::string text = refusal(ExitCode::internal);
  EXPECT_HAS(text, "cannot read " + prefix(2) + ".idx on 1 of 1 host(s): No such device");
  unsetenv("OCTET_TEST_PAUSES");
}

/// Nor is a folder whose parts cannot be listed to the end one in which parts are missing.
TEST_F(OpenData, AFolderThatCannotBeListedIsNoMistakeInTheData) {
  ASSERT_EQ(setenv("OCTET_TEST_PAUSES", "0.01", 1), 0);
  std::optional<test::UnlistedFolder> cut_off;
  if (world_->rank() == 0) cut_off.emplace();
  const std::string there = broadcast_bytes(cut_off ? cut_off->path() : "", 0, *world_);
  config_.data.train = {{there + "/x", 1.0}};
  EXPECT_HAS(refusal(ExitCode::internal), "cannot read " + there + " on 1 of 1 host(s): ");
  unsetenv("OCTET_TEST_PAUSES");
}

/// One rank of a node looks for the others: from another folder they would not see it.
TEST_F(OpenData, TheRanksOfANodeLookOnce) {
  const std::filesystem::path before = std::filesystem::current_path();
  const bool looks = files::looks_for_node(*world_);
  EXPECT_EQ(looks, world_->rank() == 0);
  std::filesystem::current_path(looks ? folder_ : before);
  EXPECT_NO_THROW(files::expect_same_files({"data.idx", "data.bin", "nobody has this"}, *world_));
  std::filesystem::current_path(before);
}

TEST_F(OpenData, TheWorkOfStepsIsTheSameToTheLastPairHoweverManyRanksSumIt) {
  config_.data.document_mask = true;
  for (const bool on_first : {true, false}) {
    config_.data.loss_on_first = on_first;
    const auto sampler = open_data(config_, *world_);
    StepWorks works(*sampler, *world_);
    for (const std::int64_t step : {0, 1, 2, 15, 16, 40, 39, 41, 7}) {
      EXPECT_EQ(works.of(step), sampler->step_work(step)) << step;
    }
  }
  config_.data.document_mask = false;
  const auto sampler = open_data(config_, *world_);
  EXPECT_EQ(StepWorks(*sampler, *world_).of(3), (StepWork{batch * seq, batch * seq * seq}));
}

TEST_F(OpenData, SharesOfAStepsWorkAddUp) {
  config_.data.document_mask = true;
  const Sampler masked(config_.data.train, sampler_config(config_));
  const DryBatches equal(batch, seq);
  for (const Batches* batches : {static_cast<const Batches*>(&masked), static_cast<const Batches*>(&equal)}) {
    for (const std::int64_t ranks : {1, 5, 12, 17}) {
      StepWork sum;
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        sum += batches->step_work(4, {.first = rank, .every = ranks});
      }
      EXPECT_EQ(sum, batches->step_work(4)) << ranks;
    }
  }
}

}  // namespace
}  // namespace octet
