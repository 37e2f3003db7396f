// The life of a run's GEMM choices on several ranks, with a stand-in for the GPU that times them: who times what, what
// is written, what a resumed start reads, and what is warned of.
#include "src/train/run/choose_gemms.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/comm/host_exchange.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/train/run/shared_warnings.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

class ChosenGemms : public testing::Test {
 public:
  ~ChosenGemms() override {
    control_->barrier();
    log::set_identity(0, 1, "");
    if (control_->rank() == 0) fs::remove_all(directory_.path);
    control_->barrier();
  }

 protected:
  ChosenGemms() {
    const fs::path mine = fs::temp_directory_path() / fmt::format("octet-gemms-{}", ::getpid());
    directory_.path = broadcast_bytes(mine.string(), 0, *control_);
    if (control_->rank() == 0) fs::create_directories(directory_.path);
    log::set_identity(control_->rank(), control_->size(), fmt::format("node-{}", control_->rank()));
    config_.device = DeviceType::cuda;
    config_.train.steps = 1000;
    for (std::int64_t m = 1; m <= 7; ++m) add(16 * m);
    gemms_.step_flops = 1e7;
    control_->barrier();
  }

  void add(std::int64_t m) { gemms_.distinct.push_back({.a = {}, .b = {}, .m = m, .n = 16, .k = 16}); }
  static std::string problem(const Gemm& g) { return fmt::format("m{}", g.m); }
  GemmBackend backend() {
    return {.platform = [this] { return platform_; },
            .products = [](const Gemm& g) { return std::vector<Gemm>{g}; },
            .problem = problem,
            .time =
                [this](std::span<const Gemm> products) {
                  GemmChoices choices{.platform = platform_};
                  for (const Gemm& g : products) {
                    timed_.push_back(problem(g));
                    choices.by_problem[problem(g)] = {.algorithm = {static_cast<std::uint64_t>(g.m), start_}};
                  }
                  return choices;
                },
            .use = [this](const GemmChoices& choices) { used_ = choices; }};
  }
  /// A start of the run; rank 0's log. `start`: goes into the algorithms that are chosen in it.
  std::string choose(std::uint64_t start) {
    start_ = start;
    timed_.clear();
    const log::SharedWarnings shared;
    testing::internal::CaptureStderr();
    choose_gemms(config_, gemms_, directory_, *control_, backend());
    tell_shared_warnings(*control_);
    control_->barrier();
    return testing::internal::GetCapturedStderr();
  }
  /// Products timed in this start, by all ranks; those of each are no more than one apart.
  std::int64_t timed() {
    std::int64_t all = 0, least = 1000, most = 0;
    for (const std::string& of_rank : gather_bytes(std::string(timed_.size(), 'x'), *control_)) {
      all += std::ssize(of_rank);
      least = std::min(least, std::ssize(of_rank));
      most = std::max(most, std::ssize(of_rank));
    }
    EXPECT_LE(most - least, 1);
    return all;
  }
  void expect_all_chosen(std::uint64_t start) const {
    EXPECT_EQ(used_.platform, platform_);
    EXPECT_EQ(used_.by_problem.size(), gemms_.distinct.size());
    for (const Gemm& g : gemms_.distinct) {
      const auto found = used_.by_problem.find(problem(g));
      ASSERT_NE(found, used_.by_problem.end()) << g.m;
      EXPECT_EQ(found->second.algorithm[0], static_cast<std::uint64_t>(g.m));
      EXPECT_EQ(found->second.algorithm[1], start) << g.m;
    }
  }
  void expect_said(const std::string& log, const std::string& text) const {
    EXPECT_EQ(log.find(text) != std::string::npos, control_->rank() == 0) << log;
  }
  static bool warns(const std::string& log) { return log.find(" W ") != std::string::npos; }
  /// Rank 0 alone touches files.
  void on_disk(const std::function<void()>& work) const {
    control_->barrier();
    if (control_->rank() == 0) work();
    control_->barrier();
  }
  bool last() const { return control_->rank() == control_->size() - 1; }

  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> control_ = make_mpi_communicator(*stream_, "control");
  RunConfig config_;
  RunDirectory directory_;
  GemmList gemms_;
  GemmPlatform platform_{.library_version = 130100, .device = "GPU"};
  GemmChoices used_;
  std::vector<std::string> timed_;
  std::uint64_t start_ = 0;
};

TEST_F(ChosenGemms, TheFirstStartTimesAndLaterOnesRead) {
  const std::string first = choose(1);
  EXPECT_FALSE(warns(first)) << first;
  expect_said(first, "cuda.gemm = auto: timed; timing takes ");
  EXPECT_EQ(timed(), 7);
  expect_all_chosen(1);
  on_disk([&] { EXPECT_EQ(read_gemm_choices(directory_.gemm_plans()), used_); });

  directory_.resumes = true;
  const std::string second = choose(2);
  EXPECT_FALSE(warns(second)) << second;
  expect_said(second, "7 GEMMs take the algorithms of " + directory_.gemm_plans());
  EXPECT_EQ(timed(), 0);
  expect_all_chosen(1);
}

TEST_F(ChosenGemms, AnotherLibraryIsAWarningAndTimesAnew) {
  choose(1);
  directory_.resumes = true;
  platform_.library_version = 130200;
  expect_said(choose(2),
              directory_.gemm_plans() +
                  " is of cuBLASLt 130100 on GPU, this is cuBLASLt 130200 on GPU: GEMMs are timed anew; losses "
                  "go on within rounding, not to the bit");
  EXPECT_EQ(timed(), 7);
  expect_all_chosen(2);
  EXPECT_FALSE(warns(choose(3)));
  expect_all_chosen(2);
}

TEST_F(ChosenGemms, WhatIsMissingAtAResumeIsAWarning) {
  choose(1);
  directory_.resumes = true;
  on_disk([&] {
    GemmChoices some = read_gemm_choices(directory_.gemm_plans());
    some.by_problem.erase("m16");
    some.by_problem.erase("m64");
    write_gemm_choices(directory_.gemm_plans(), some);
  });
  expect_said(choose(2), "has no algorithm for 2 GEMM(s): they are timed anew; losses go on within rounding");
  EXPECT_EQ(timed(), 2);
  EXPECT_EQ(used_.by_problem.at("m64").algorithm[1], 2u);
  EXPECT_EQ(used_.by_problem.at("m32").algorithm[1], 1u);

  on_disk([&] { fs::remove(directory_.gemm_plans()); });
  expect_said(choose(3), directory_.gemm_plans() + " is not there: GEMMs are timed anew; losses go on within rounding");
  expect_all_chosen(3);
}

/// What a machine that lost its power left; nothing that a person wrote.
TEST_F(ChosenGemms, AFileOfTheRunThatIsCutIsAWarning) {
  choose(1);
  directory_.resumes = true;
  on_disk([&] { std::ofstream(directory_.gemm_plans()).flush(); });
  expect_said(choose(2), directory_.gemm_plans() + ":1: expected ");
  expect_all_chosen(2);
}

TEST_F(ChosenGemms, AShortRunTimesNothing) {
  config_.train.steps = 1;
  const std::string said = choose(1);
  EXPECT_FALSE(warns(said)) << said;
  expect_said(said, "cuda.gemm = auto: by heuristic; timing takes ");
  EXPECT_EQ(timed(), 0);
  EXPECT_TRUE(used_.by_problem.empty());
  on_disk([&] { EXPECT_FALSE(fs::exists(directory_.gemm_plans())); });

  directory_.resumes = true;
  EXPECT_FALSE(warns(choose(2)));             // it never had choices
  config_.cuda.gemm = CudaGemmChoice::timed;  // whatever it costs
  choose(3);
  EXPECT_EQ(timed(), 7);
}

/// Only what is left of the run counts, and a file that has everything costs nothing.
TEST_F(ChosenGemms, TheEndOfARunKeepsItsChoices) {
  choose(1);
  directory_.resumes = true;
  on_disk([&] { fs::create_directories(directory_.checkpoints() + "/step-001000"); });
  EXPECT_FALSE(warns(choose(2)));
  expect_all_chosen(1);
  platform_.device = "another GPU";
  expect_said(choose(3), "GEMMs are chosen by heuristic; losses go on within rounding");
  EXPECT_TRUE(used_.by_problem.empty());
}

/// A rank with another library neither times nor takes what others have timed.
TEST_F(ChosenGemms, ARankWithAnotherGpuUsesTheHeuristic) {
  if (control_->size() == 1) GTEST_SKIP() << "one rank is not another";
  if (last()) platform_.device = "another GPU";
  const std::string said = choose(1);
  expect_said(said, fmt::format("on 1 of {} ranks ({}): GEMMs of rank 0 are chosen for cuBLASLt 130100 on GPU, this is "
                                "cuBLASLt 130100 on another GPU: the heuristic chooses here",
                                control_->size(), control_->size() - 1));
  if (last()) {
    EXPECT_TRUE(timed_.empty());
    EXPECT_EQ(used_, (GemmChoices{.platform = platform_}));
  } else {
    expect_all_chosen(1);
  }
}

/// As where tensor parallelism does not divide evenly.
TEST_F(ChosenGemms, ProductsOfOneRankAreTimedByIt) {
  if (last()) add(1024);
  choose(1);
  EXPECT_EQ(used_.by_problem.size(), 8u);
  EXPECT_EQ(std::ranges::count(timed_, "m1024"), last() ? 1 : 0);
}

TEST_F(ChosenGemms, ANamedFileTakesThePlaceOfTheRunsOwn) {
  config_.cuda.gemm_plans = directory_.path + "/named";
  choose(1);
  on_disk([&] {
    EXPECT_TRUE(fs::exists(config_.cuda.gemm_plans));
    EXPECT_FALSE(fs::exists(directory_.gemm_plans()));
  });
  for (const bool deterministic : {false, true}) {  // replayed, and nothing is added
    config_.cuda.deterministic = deterministic;
    config_.cuda.gemm = deterministic ? CudaGemmChoice::automatic : CudaGemmChoice::heuristic;
    add(deterministic ? 1040 : 1024);
    EXPECT_FALSE(warns(choose(2)));
    EXPECT_EQ(timed(), 0);
    EXPECT_EQ(used_.by_problem.size(), 7u);
    EXPECT_EQ(used_.by_problem.at("m64").algorithm[1], 1u);
  }
}

/// Another start has taken the directory: what is there is not touched.
TEST_F(ChosenGemms, TheOwnerIsAskedBeforeTheFileIsWritten) {
  if (control_->size() > 1) GTEST_SKIP() << "the others would wait for the rank that throws";
  const OwnerLease other(directory_.path);
  directory_.owner = {.run_dir = directory_.path, .name = "this run's"};
  EXPECT_THROW(choose_gemms(config_, gemms_, directory_, *control_, backend()), Error);
  EXPECT_FALSE(fs::exists(directory_.gemm_plans()));
}

}  // namespace
}  // namespace octet
