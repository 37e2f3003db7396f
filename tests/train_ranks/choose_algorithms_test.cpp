// The life of a run's choices on several ranks, with a stand-in for the library that is timed: who times what, what is
// written, what a resumed start reads, and what is warned of. Of GEMMs; attention's differ by names.
#include "src/train/algorithms/choose_algorithms.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/comm/control_exchange.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/train/run/shared_warnings.h"
#include "tests/checkpoints/file_size_limit.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

class ChosenAlgorithms : public testing::Test {
 public:
  ~ChosenAlgorithms() override {
    control_->barrier();
    log::set_identity(0, 1, "");
    if (control_->rank() == 0) fs::remove_all(directory_.path);
    control_->barrier();
  }

 protected:
  ChosenAlgorithms() {
    const fs::path mine = fs::temp_directory_path() / fmt::format("octet-gemms-{}", ::getpid());
    directory_.path = broadcast_bytes(mine.string(), 0, *control_);
    if (control_->rank() == 0) fs::create_directories(directory_.path);
    log::set_identity(control_->rank(), control_->size(), fmt::format("node-{}", control_->rank()));
    config_.device = DeviceType::cuda;
    config_.train.steps = 1000;
    for (int m = 1; m <= 7; ++m) add(16 * m);
    control_->barrier();
  }

  void add(int m) { problems_.emplace(fmt::format("m{}", m), 512.0 * m); }
  /// What is chosen of a problem in a start.
  static std::string algorithm(const std::string& problem, int start) {
    return fmt::format("{} {} 0 0 0 0 0 0", problem.substr(1), start);
  }
  AlgorithmRules rules() const {
    return {.kind = AlgorithmKind::gemm,
            .option = "cuda.gemm",
            .how = config_.cuda.gemm,
            .may_time = config_.cuda.may_time_gemms(),
            .path = config_.cuda.gemm_plans.empty() ? directory_.gemm_plans() : config_.cuda.gemm_plans,
            .path_is_named = !config_.cuda.gemm_plans.empty(),
            .used_path = directory_.gemm_plans_used(),
            .many = "GEMMs",
            .step_flops = 1e7,
            .building_flops = building_flops_};
  }
  AlgorithmLibrary library() {
    return {.platform = [this] { return platform_; },
            .problems = [this] { return problems_; },
            .time =
                [this](const std::vector<std::string>& problems) {
                  AlgorithmChoices choices{.platform = platform_};
                  for (const std::string& problem : problems) {
                    timed_.push_back(problem);
                    choices.by_problem[problem] = {.algorithm = algorithm(problem, start_)};
                  }
                  return choices;
                },
            .use = [this](const AlgorithmChoices& choices) { used_ = choices; }};
  }
  /// A start of the run; rank 0's log. `start`: goes into the algorithms that are chosen in it.
  std::string choose(int start) {
    start_ = start;
    timed_.clear();
    const log::SharedWarnings shared;
    testing::internal::CaptureStderr();
    choose_algorithms(config_, rules(), directory_, *control_, library());
    tell_shared_warnings(*control_);
    control_->barrier();
    return testing::internal::GetCapturedStderr();
  }
  /// Problems timed in this start, by all ranks; those of each are no more than one apart.
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
  void expect_all_chosen(int start) const {
    EXPECT_EQ(used_.platform, platform_);
    EXPECT_EQ(used_.by_problem.size(), problems_.size());
    for (const auto& [problem, flops] : problems_) expect_chosen(problem, start);
  }
  void expect_chosen(const std::string& problem, int start) const {
    const auto found = used_.by_problem.find(problem);
    ASSERT_NE(found, used_.by_problem.end()) << problem;
    EXPECT_EQ(found->second.algorithm, algorithm(problem, start));
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
  std::map<std::string, double> problems_;
  AlgorithmPlatform platform_{.library_version = 130100, .device = "GPU"};
  AlgorithmChoices used_;
  std::vector<std::string> timed_;
  double building_flops_ = 0;
  int start_ = 0;
};

TEST_F(ChosenAlgorithms, TheFirstStartTimesAndLaterOnesRead) {
  const std::string first = choose(1);
  EXPECT_FALSE(warns(first)) << first;
  expect_said(first, "cuda.gemm = auto: timed; timing takes ");
  EXPECT_EQ(timed(), 7);
  expect_all_chosen(1);
  on_disk([&] { EXPECT_EQ(read_algorithm_choices(AlgorithmKind::gemm, directory_.gemm_plans()), used_); });

  directory_.resumes = true;
  const std::string second = choose(2);
  EXPECT_FALSE(warns(second)) << second;
  expect_said(second, "7 GEMMs take the algorithms of " + directory_.gemm_plans());
  EXPECT_EQ(timed(), 0);
  expect_all_chosen(1);
}

TEST_F(ChosenAlgorithms, AnotherLibraryIsAWarningAndTimesAnew) {
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

TEST_F(ChosenAlgorithms, WhatIsMissingAtAResumeIsAWarning) {
  choose(1);
  directory_.resumes = true;
  on_disk([&] {
    AlgorithmChoices some = read_algorithm_choices(AlgorithmKind::gemm, directory_.gemm_plans());
    some.by_problem.erase("m16");
    some.by_problem.erase("m64");
    write_algorithm_choices(directory_.gemm_plans(), some);
  });
  expect_said(choose(2), "has no algorithm for 2 GEMMs: they are timed anew; losses go on within rounding");
  EXPECT_EQ(timed(), 2);
  expect_chosen("m64", 2);
  expect_chosen("m32", 1);

  on_disk([&] { fs::remove(directory_.gemm_plans()); });
  expect_said(choose(3), directory_.gemm_plans() + " is not there: GEMMs are timed anew; losses go on within rounding");
  expect_all_chosen(3);
}

/// A full disk is no mistake of the user's, which a job would not try again.
TEST_F(ChosenAlgorithms, ADiskThatDoesNotTakeWhatIsKeptInMindIsTheMachinesFault) {
  choose(1);
  directory_.resumes = true;
  on_disk([&] { fs::remove(directory_.gemm_plans_used()); });
  ExitCode code = ExitCode::finished;
  {
    std::optional<checkpoint::test::FileSizeLimit> limit;
    if (control_->rank() == 0) limit.emplace(1);
    try {
      choose_algorithms(config_, rules(), directory_, *control_, library());
    } catch (const Error& error) {
      code = error.code();
    }
  }
  EXPECT_EQ(code, control_->rank() == 0 ? ExitCode::internal : ExitCode::finished);
}

/// What a machine that lost its power left; nothing that a person wrote.
TEST_F(ChosenAlgorithms, AFileOfTheRunThatIsCutIsAWarning) {
  choose(1);
  directory_.resumes = true;
  on_disk([&] { std::ofstream(directory_.gemm_plans()).flush(); });
  expect_said(choose(2), directory_.gemm_plans() + ":1: expected ");
  expect_all_chosen(2);
}

/// On both sides of 1 % of 1000 steps, whatever the number of ranks: a rank builds for 1 to 7 of the problems.
TEST_F(ChosenAlgorithms, ABuildingOfPlansThatCostsMuchIsLeftOut) {
  building_flops_ = 2e8;
  expect_said(choose(1), "cuda.gemm = auto: by heuristic; timing takes ");
  EXPECT_EQ(timed(), 0);
  building_flops_ = 1e7;
  expect_said(choose(2), "cuda.gemm = auto: timed; timing takes ");
  EXPECT_EQ(timed(), 7);
}

TEST_F(ChosenAlgorithms, AShortRunTimesNothing) {
  config_.train.steps = 1;
  const std::string said = choose(1);
  EXPECT_FALSE(warns(said)) << said;
  expect_said(said, "cuda.gemm = auto: by heuristic; timing takes ");
  EXPECT_EQ(timed(), 0);
  EXPECT_TRUE(used_.by_problem.empty());
  on_disk([&] { EXPECT_FALSE(fs::exists(directory_.gemm_plans())); });

  directory_.resumes = true;
  EXPECT_FALSE(warns(choose(2)));              // it never had choices
  config_.cuda.gemm = AlgorithmSearch::timed;  // whatever it costs
  choose(3);
  EXPECT_EQ(timed(), 7);
}

/// Only what is left of the run counts, and a file that has everything costs nothing.
TEST_F(ChosenAlgorithms, TheEndOfARunKeepsItsChoices) {
  choose(1);
  directory_.resumes = true;
  on_disk([&] { fs::create_directories(directory_.checkpoints() + "/step-001000"); });
  EXPECT_FALSE(warns(choose(2)));
  expect_all_chosen(1);
  platform_.device = "another GPU";
  expect_said(choose(3), "GEMMs are chosen by heuristic; losses go on within rounding");
  EXPECT_TRUE(used_.by_problem.empty());
}

/// The file is lost when timing no longer pays: without a word the bits would be others.
TEST_F(ChosenAlgorithms, AFileThatIsLostNearTheEndIsAWarning) {
  choose(1);
  directory_.resumes = true;
  on_disk([&] {
    fs::create_directories(directory_.checkpoints() + "/step-001000");
    fs::remove(directory_.gemm_plans());
  });
  for (const int start : {2, 3}) {  // the earlier steps stay what they are
    expect_said(choose(start),
                directory_.gemm_plans() + " is not there: GEMMs are chosen by heuristic; losses go on within rounding");
    EXPECT_TRUE(used_.by_problem.empty());
    EXPECT_EQ(timed(), 0);
  }
}

/// A rank with another library neither times nor takes what others have timed.
TEST_F(ChosenAlgorithms, ARankWithAnotherGpuUsesTheHeuristic) {
  if (control_->size() == 1) GTEST_SKIP() << "one rank is not another";
  if (last()) platform_.device = "another GPU";
  const std::string said = choose(1);
  expect_said(said, fmt::format("on 1 of {} ranks ({}): GEMMs of rank 0 are chosen for cuBLASLt 130100 on GPU, this is "
                                "cuBLASLt 130100 on another GPU: the heuristic chooses here",
                                control_->size(), control_->size() - 1));
  if (last()) {
    EXPECT_TRUE(timed_.empty());
    EXPECT_EQ(used_, (AlgorithmChoices{.platform = platform_}));
  } else {
    expect_all_chosen(1);
  }
}

/// As where tensor parallelism does not divide evenly.
TEST_F(ChosenAlgorithms, ProblemsOfOneRankAreTimedByIt) {
  if (last()) add(1024);
  choose(1);
  EXPECT_EQ(used_.by_problem.size(), 8u);
  EXPECT_EQ(std::ranges::count(timed_, "m1024"), last() ? 1 : 0);
}

TEST_F(ChosenAlgorithms, ANamedFileTakesThePlaceOfTheRunsOwn) {
  config_.cuda.gemm_plans = directory_.path + "/named";
  choose(1);
  on_disk([&] {
    EXPECT_TRUE(fs::exists(config_.cuda.gemm_plans));
    EXPECT_FALSE(fs::exists(directory_.gemm_plans()));
  });
  for (const bool deterministic : {false, true}) {  // replayed, and nothing is added
    config_.cuda.deterministic = deterministic;
    config_.cuda.gemm = deterministic ? AlgorithmSearch::automatic : AlgorithmSearch::heuristic;
    add(deterministic ? 1040 : 1024);
    EXPECT_FALSE(warns(choose(2)));
    EXPECT_EQ(timed(), 0);
    EXPECT_EQ(used_.by_problem.size(), 7u);
    expect_chosen("m64", 1);
  }
}

/// A file of its own beside that of GEMMs, and options of its own.
TEST_F(ChosenAlgorithms, AttentionIsChosenLikewise) {
  const AlgorithmPlatform of_gemms = platform_;
  choose(1);
  platform_ = {.kind = AlgorithmKind::attention, .library_version = 91900, .device = "GPU"};
  AlgorithmRules rules{.kind = AlgorithmKind::attention,
                       .option = "cuda.attention",
                       .how = AlgorithmSearch::automatic,
                       .may_time = true,
                       .path = directory_.attention_plans(),
                       .used_path = directory_.attention_plans_used(),
                       .many = "attention passes",
                       .step_flops = 1e9};
  AlgorithmLibrary cudnn = library();
  cudnn.problems = [] { return std::map<std::string, double>{{"forward b1", 100}, {"backward b1", 200}}; };
  std::vector<std::string> timed;
  cudnn.time = [&](const std::vector<std::string>& problems) {
    AlgorithmChoices choices{.platform = platform_};
    for (const std::string& problem : problems) {
      timed.push_back(problem);
      choices.by_problem[problem] = {.algorithm = "eng4_k24=0", .microseconds = 1};
    }
    return choices;
  };
  const auto start = [&] {
    const log::SharedWarnings shared;
    testing::internal::CaptureStderr();
    choose_algorithms(config_, rules, directory_, *control_, cudnn);
    tell_shared_warnings(*control_);
    control_->barrier();
    return testing::internal::GetCapturedStderr();
  };
  expect_said(start(), "cuda.attention = auto: timed; timing takes ");
  EXPECT_EQ(timed.size(), control_->size() == 1 ? 2u : control_->rank() < 2 ? 1u : 0u);
  ASSERT_EQ(used_.by_problem.size(), 2u);
  EXPECT_EQ(used_.by_problem.at("backward b1").algorithm, "eng4_k24=0");
  on_disk([&] {
    EXPECT_EQ(read_algorithm_choices(AlgorithmKind::attention, directory_.attention_plans()), used_);
    EXPECT_EQ(read_algorithm_choices(AlgorithmKind::gemm, directory_.gemm_plans()).platform, of_gemms);
  });

  directory_.resumes = true;
  timed.clear();
  const std::string second = start();
  EXPECT_FALSE(warns(second)) << second;
  expect_said(second, "2 attention passes take the algorithms of " + directory_.attention_plans());
  EXPECT_TRUE(timed.empty());
  platform_.library_version = 92000;
  expect_said(start(),
              " is of cuDNN 91900 on GPU, this is cuDNN 92000 on GPU: attention passes are timed anew; losses go "
              "on within rounding, not to the bit");
}

/// Another start has taken the directory: what is there is not touched.
TEST_F(ChosenAlgorithms, TheOwnerIsAskedBeforeTheFileIsWritten) {
  if (control_->size() > 1) GTEST_SKIP() << "the others would wait for the rank that throws";
  const OwnerLease other(directory_.path);
  directory_.owner = {.run_dir = directory_.path, .name = "this run's"};
  EXPECT_THROW(choose_algorithms(config_, rules(), directory_, *control_, library()), Error);
  EXPECT_FALSE(fs::exists(directory_.gemm_plans()));
}

}  // namespace
}  // namespace octet
