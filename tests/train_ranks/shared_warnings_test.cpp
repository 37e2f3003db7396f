// What every rank would say is said once, with the number of ranks; what one rank alone would say is not lost.
#include "src/train/run/shared_warnings.h"

#include "src/base/log.h"
#include "src/train/run/step_queue.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/support/sampler_of.h"

namespace octet {
namespace {

class SharedWarningsTold : public TrainerTest {
 protected:
  std::string of_last() const {
    const std::string who = world_->size() > 1 ? fmt::format(" ({})", world_->size() - 1) : "";
    return fmt::format("on 1 of {} ranks{}: ", world_->size(), who);
  }
  static std::string logged(const std::function<void()>& work) {
    testing::internal::CaptureStderr();
    work();
    return testing::internal::GetCapturedStderr();
  }
  static int count(const std::string& text, const std::string& part) {
    int n = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  }

  void warn() const {
    log::shared_warning("no plan for {}", 256);
    log::shared_warning("no plan for {}", 256);
    if (world_->rank() == world_->size() - 1) log::shared_warning("alone");
  }
};

TEST_F(SharedWarningsTold, AtTheEndOfTheStepOnceForAllRanks) {
  if (world_->size() == 1) GTEST_SKIP() << "one rank shares nothing";
  config_.train.micro_batch = 1;
  Mesh mesh(make_mpi_communicator(*stream_, "world"), {.dp_shard = 0});
  Trainer trainer(config_, test::sampler_of(config_), mesh, *world_, *stream_, nullptr);
  StepQueue late(trainer, *world_, true);
  const log::SharedWarnings shared;
  EXPECT_EQ(logged([&] { warn(); }), "");
  const std::string said = logged([&] {
    late.advance(
        1, [] { return Requests{}; }, false);
  });
  const std::string again = logged([&] {
    late.advance(
        2, [] { return Requests{}; }, true);
  });
  EXPECT_EQ(again, "");
  if (world_->rank() != 0) {
    EXPECT_EQ(said, "");
    return;
  }
  const std::string all = fmt::format("on {0} of {0} ranks: no plan for 256\n", world_->size());
  EXPECT_EQ(count(said, all), 1) << said;
  EXPECT_EQ(count(said, of_last() + "alone\n"), 1) << said;
  EXPECT_EQ(count(said, "\n"), 2) << said;
}

TEST_F(SharedWarningsTold, OneRankSaysItPlainly) {
  if (world_->size() > 1) GTEST_SKIP() << "for one rank";
  const log::SharedWarnings shared;
  warn();
  const std::string said = logged([&] { tell_shared_warnings(*world_); });
  EXPECT_EQ(count(said, "W no plan for 256\n"), 1) << said;
  EXPECT_EQ(count(said, "W alone\n"), 1) << said;
}

TEST_F(SharedWarningsTold, ARankThatDiesSaysWhatItHas) {
  EXPECT_EQ(count(logged([&] {
                    const log::SharedWarnings shared;
                    warn();
                  }),
                  "no plan for 256\n"),
            1);
  const log::SharedWarnings shared;
  warn();
  const std::string said = logged([] { log::error("out of memory"); });
  EXPECT_LT(said.find("no plan for 256"), said.find("out of memory")) << said;
  EXPECT_EQ(count(said, "alone"), world_->rank() == world_->size() - 1 ? 1 : 0) << said;
  EXPECT_FALSE(log::SharedWarnings::any());
}

/// Programs that ask no other rank, and whatever comes before and after a run.
TEST_F(SharedWarningsTold, WhereNobodyKeepsThemTheyArePrintedAtOnce) {
  EXPECT_EQ(count(logged([&] { warn(); }), "no plan for 256\n"), 2);
}

}  // namespace
}  // namespace octet
