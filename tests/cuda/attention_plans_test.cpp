// Which of cuDNN's plans is taken for attention, against a stand-in for the library: what is built, what is timed, what
// a choice of before does.
#include "kernels/cuda/attention/attention_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "kernels/cuda/attention/document_plans.h"
#include "kernels/cuda_settings.h"
#include "src/base/error.h"
#include "src/base/log.h"

namespace octet::cuda {
namespace {

struct Proposal {
  std::string name;
  std::int64_t workspace = 0;
  bool can_be_built = true;
};

class FakePlan final : public AttentionPlan {
 public:
  explicit FakePlan(Proposal of) : of_(std::move(of)) {}
  std::int64_t workspace() const override { return of_.workspace; }
  std::string engine() const override { return of_.name; }
  void execute(cudaStream_t, std::span<void* const>, void*) const override {}

 private:
  Proposal of_;
};

struct AttentionPlanChoice : testing::Test {
  std::vector<Proposal> proposals{{"first"}, {"second"}, {"third"}};
  std::vector<std::string> built, timed;
  std::map<std::string, double> times;  ///< microseconds
  AttentionPlanKey key{{1, 256, 8, 2, 128, 0.1f, DType::bf16}, AttentionPass::backward, false};

  class FakeGraph final : public AttentionGraph {
   public:
    explicit FakeGraph(AttentionPlanChoice& test) : test_(test) {
      for (const Proposal& p : test.proposals) names_.push_back(p.name);
    }
    const std::vector<std::string>& proposals() const override { return names_; }
    std::unique_ptr<AttentionPlan> build(std::size_t proposal) const override {
      const Proposal& p = test_.proposals.at(proposal);
      test_.built.push_back(p.name);
      if (!p.can_be_built) throw internal_error("kernels", "no {} here", p.name);
      return std::make_unique<FakePlan>(p);
    }

   private:
    AttentionPlanChoice& test_;
    std::vector<std::string> names_;
  };

  AttentionPlans plans() {
    return AttentionPlans(AttentionLibrary([this](const AttentionPlanKey&) {
      return AttentionGraphResult{.graph = std::make_unique<FakeGraph>(*this), .why_not = ""};
    }));
  }
  AlgorithmChoice time() {
    AttentionPlans fresh = plans();
    return fresh.time(key, [this](const auto plans) {
      std::vector<double> of_plan;
      for (const auto& plan : plans) {
        timed.push_back(plan->engine());
        of_plan.push_back(times.at(plan->engine()));
      }
      return of_plan;
    });
  }
  AlgorithmChoices choice(const std::string& plan) const {
    return {.platform = {.kind = AlgorithmKind::attention, .library_version = 1, .device = "GPU"},
            .by_problem = {{text_of(key.problem()), {plan, 1}}}};
  }
  /// The engine that is taken with that choice in force; what is said of it goes to `warnings`.
  std::string taken(const std::string& plan) {
    AttentionPlans fresh = plans();
    fresh.use(choice(plan));
    built.clear();
    const log::SharedWarnings shared;
    const AttentionPlanResult& found = fresh.find(key);
    warnings = log::SharedWarnings::take();
    return found.plan == nullptr ? "" : found.plan->engine();
  }
  std::vector<std::string> warnings;

  using Names = std::vector<std::string>;
};

TEST_F(AttentionPlanChoice, TheFirstThatCanBeBuiltIsTakenAndNoneAfterIt) {
  proposals[0].can_be_built = false;
  AttentionPlans all = plans();
  EXPECT_EQ(all.find(key).plan->engine(), "second");
  EXPECT_EQ(built, (Names{"first", "second"}));
  all.find(key);
  EXPECT_EQ(built.size(), 2u) << "built once";
}

TEST_F(AttentionPlanChoice, WithoutOneAllReasonsAreGiven) {
  for (Proposal& p : proposals) p.can_be_built = false;
  const log::SharedWarnings shared;
  AttentionPlans all = plans();
  EXPECT_EQ(all.find(key).why_not,
            "first: [kernels] no first here; second: [kernels] no second here; third: [kernels] no third here");
  EXPECT_EQ(log::SharedWarnings::take().size(), 1u);
  proposals.clear();
  AttentionPlans none = plans();
  EXPECT_EQ(none.find(key).why_not, "it proposes nothing");
}

/// cudnn-frontend calls it a workaround by a padding mask; with cuDNN 9.14 the same backward pass asks for 8 bytes a
/// batch entry more than with 9.19.
TEST(AttentionPlanKeys, OlderVersionsOfCudnnHaveLengthsInTheirWorkspace) {
  const auto why_not = [](std::int64_t batch, std::int64_t seq, std::size_t version, AttentionPlanKey key = {}) {
    key.shape = {batch, seq, 8, 2, 128, 0.1f, DType::bf16};
    return why_no_attention_plan(key, version);
  };
  const AttentionPlanKey backward{.shape = {}, .pass = AttentionPass::backward};
  EXPECT_NE(why_not(1, 1000, 91500, backward), "");
  EXPECT_NE(why_not(3, 1000, 91400, backward), "");
  EXPECT_EQ(why_not(1, 1000, 91501, backward), "");
  EXPECT_EQ(why_not(2, 1000, 91400, backward), "") << "16 bytes of them";
  EXPECT_EQ(why_not(1, 1024, 91400, backward), "");
  EXPECT_EQ(why_not(1, 1000, 91400), "") << "forward";
  EXPECT_EQ(why_not(1, 1000, 91400, {.shape = {}, .pass = AttentionPass::backward, .documents = 4, .longest = 512}),
            "");
}

TEST_F(AttentionPlanChoice, TheFastestIsChosen) {
  times = {{"first", 10}, {"second", 9.95}, {"third", 7}};
  const AlgorithmChoice chosen = time();
  EXPECT_EQ(chosen, (AlgorithmChoice{"third", 7}));
  EXPECT_EQ(timed, (Names{"first", "second", "third"}));
  times["third"] = 9.9;
  EXPECT_EQ(time().algorithm, "first") << "noise";
  times = {{"first", HUGE_VAL}, {"second", 9}, {"third", HUGE_VAL}};
  EXPECT_EQ(time().algorithm, "second");
  times["second"] = HUGE_VAL;
  EXPECT_THROW(time(), Error);
}

TEST_F(AttentionPlanChoice, AsManyAreTimedAsThereAreTrials) {
  for (int i = 3; i < 12; ++i) proposals.push_back({fmt::format("number {}", i)});
  for (const Proposal& p : proposals) times[p.name] = 1;
  time();
  EXPECT_EQ(timed.size(), 8u);
}

/// The memory plan was made before, so a plan that wants more than it has room for is out of the question.
TEST_F(AttentionPlanChoice, WhatWantsMoreThanIsPlannedIsNotTimed) {
  const std::int64_t bound = attention_workspace_bound(key);
  proposals[0].can_be_built = false;
  proposals[1].workspace = bound;
  proposals[2].workspace = bound + 1;
  times = {{"second", 9}, {"third", 1}};
  EXPECT_EQ(time().algorithm, "second");
  EXPECT_EQ(timed, (Names{"second"}));
}

/// What is planned is then what the first one wants, with which no other is compared.
TEST_F(AttentionPlanChoice, AFirstOneThatWantsMoreStays) {
  proposals[0].workspace = attention_workspace_bound(key) + 1;
  times = {{"first", 9}, {"second", 1}, {"third", 1}};
  EXPECT_EQ(time().algorithm, "first");
  EXPECT_EQ(timed, (Names{"first"}));
  EXPECT_EQ(taken("first"), "first");
  EXPECT_TRUE(warnings.empty());
}

TEST_F(AttentionPlanChoice, AChoiceIsBuiltAndNothingElse) {
  EXPECT_EQ(taken("third"), "third");
  EXPECT_EQ(built, (Names{"third"}));
  EXPECT_TRUE(warnings.empty());
}

TEST_F(AttentionPlanChoice, AChoiceThatCannotBeIsAWarning) {
  const auto expect_first = [&](const std::string& plan, const std::string& why) {
    EXPECT_EQ(taken(plan), "first");
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("the plan that was chosen before, " + plan + ", " + why), std::string::npos)
        << warnings[0];
    EXPECT_NE(warnings[0].find("losses go on within rounding"), std::string::npos);
  };
  expect_first("fourth", "is none of cuDNN's proposals here");
  proposals[1].can_be_built = false;
  expect_first("second", "cannot be built ([kernels] no second here)");
  proposals[2].workspace = attention_workspace_bound(key) + 1;
  expect_first("third", fmt::format("wants {} bytes of workspace, and {} are planned", proposals[2].workspace,
                                    attention_workspace_bound(key)));
}

TEST_F(AttentionPlanChoice, WhatIsDeterministicTakesTheHeuristics) {
  key.deterministic = true;
  EXPECT_EQ(taken("third"), "first");
  EXPECT_TRUE(warnings.empty());
}

/// Plans of before are made anew, also where choices are taken back.
TEST_F(AttentionPlanChoice, ChoicesComeIntoForceAtOnce) {
  AttentionPlans all = plans();
  EXPECT_EQ(all.find(key).plan->engine(), "first");
  all.use(choice("second"));
  EXPECT_EQ(all.find(key).plan->engine(), "second");
  all.use(choice("second"));
  EXPECT_EQ(all.find(key).plan->engine(), "second");
  EXPECT_EQ(built, (Names{"first", "second"})) << "the same choices change nothing";
  AttentionPlanKey other = key;
  other.shape.seq = 512;
  EXPECT_EQ(all.find(other).plan->engine(), "first");
  all.use({});
  EXPECT_EQ(all.find(key).plan->engine(), "first");
}

/// Whatever keeps cuDNN from rows of several documents is said, and where nothing does, there is a plan.
TEST_F(AttentionPlanChoice, OfDocumentsOurKernelsTakeThePlaceForAReason) {
  const auto why_not = [&](const CudaSettings& settings, std::int64_t places = 64) {
    set_cuda_settings(settings);
    AttentionPlans fresh = plans();
    const log::SharedWarnings shared;
    const DocumentPlan found = document_plan(fresh, key.problem(), places, 256);
    log::SharedWarnings::take();
    set_cuda_settings({});
    EXPECT_EQ(found.plan == nullptr, !found.why_not.empty());
    return found.why_not;
  };
  EXPECT_EQ(why_not({.document_attention = DocumentAttention::own}), "cuda.document_attention is own");
  EXPECT_EQ(why_not({.deterministic = true}), "cuda.deterministic is true");
  EXPECT_EQ(why_not({}), "");
  EXPECT_EQ(why_not({}, 4096), "a micro-batch has more than 1024 documents");

  const std::int64_t bound = document_workspace_bound({key.shape, AttentionPass::forward}, 64);
  proposals[0].workspace = bound;
  EXPECT_EQ(why_not({}), "");
  proposals[0].workspace = bound + 1;
  EXPECT_EQ(why_not({}), fmt::format("cuDNN's plan for {} and 64 documents wants {} bytes of workspace, and {} are "
                                     "planned",
                                     text_of({key.shape, AttentionPass::forward}), bound + 1, bound));
  for (Proposal& p : proposals) p.can_be_built = false;
  EXPECT_TRUE(why_not({}).starts_with("cuDNN has no plan for forward: first: ")) << why_not({});
}

}  // namespace
}  // namespace octet::cuda
