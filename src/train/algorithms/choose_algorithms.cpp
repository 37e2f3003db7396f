#include "src/train/algorithms/choose_algorithms.h"

#include <chrono>
#include <optional>
#include <sstream>
#include <utility>

#include "checkpoints/restore/restore.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/base/read_file.h"
#include "src/base/replace_file.h"
#include "src/base/seconds_since.h"
#include "src/comm/control_exchange.h"
#include "src/comm/look_together.h"
#include "src/comm/operation.h"
#include "src/train/algorithms/timing_cost.h"

namespace octet {
namespace {

constexpr const char* within_rounding = "losses go on within rounding, not to the bit";

using Problems = std::map<std::string, double>;  // with FLOPs; by their texts, so in the same order on every rank

/// What rank 0 found.
struct Stored {
  AlgorithmChoices choices;  ///< for all; empty, of rank 0's platform, where there are none to use
  bool is_there = false;     ///< a file of choices
  bool used = false;         ///< earlier starts had choices, whatever became of them
  std::string doubt{};       ///< why earlier choices, if there were any, cannot be used
  std::int64_t step = 0;     ///< from which the run goes on, as far as names of checkpoints say
};

class Choosing {
 public:
  Choosing(const RunConfig& config, const AlgorithmRules& rules, const RunDirectory& directory, Communicator& control,
           const AlgorithmLibrary& library)
      : config_(config), rules_(rules), directory_(directory), control_(control), library_(library) {}

  void choose() {
    const OperationScope operation("choice of the algorithms of GEMMs and attention");
    read_together();
    const AlgorithmPlatform mine = library_.platform();
    const bool same = mine == stored_.choices.platform;
    if (!same) {
      log::shared_warning("{} of rank 0 are chosen for {}, this is {}: the heuristic chooses here", rules_.many,
                          stored_.choices.platform.text(), mine.text());
    }
    const Problems all = same ? library_.problems() : Problems();
    Problems missing;
    for (const auto& [problem, flops] : all) {
      if (!stored_.choices.by_problem.contains(problem)) missing.emplace(problem, flops);
    }
    const std::map<std::string, int> who = share(missing);
    const bool timed = !who.empty() && worth_timing(missing);
    warn_of_others(who.size(), timed);
    if (timed) time(missing, who);
    if (!stored_.choices.by_problem.empty()) keep_in_mind();
    if (same && !stored_.choices.by_problem.empty()) {
      log::info("{} {} take the algorithms of {}", all.size() - (timed ? 0 : missing.size()), rules_.many, rules_.path);
    }
    library_.use(same ? stored_.choices : AlgorithmChoices{.platform = mine});
  }

 private:
  /// Rank 0's reading of the file, for all.
  void read_together() {
    stored_.choices.platform = library_.platform();
    files::look_by_first(control_, [&] { read(); });
    stored_.choices =
        parse_algorithm_choices(rules_.kind, broadcast_bytes(text_of(stored_.choices), 0, control_), rules_.path);
  }

  void read() {
    if (directory_.resumes) {
      const auto saved = checkpoint::list_checkpoints(directory_.checkpoints());
      if (!saved.empty()) stored_.step = checkpoint::step_of(saved.front()).value_or(0);
    }
    stored_.used = files::is_there(rules_.used_path);
    if (!files::is_there(rules_.path)) {
      if (directory_.resumes) stored_.doubt = fmt::format("{} is not there", rules_.path);
      return;
    }
    stored_.is_there = true;
    try {
      take(parse_algorithm_choices(rules_.kind, files::read_file(rules_.path), rules_.path));
    } catch (const files::ReadError&) {
      throw;
    } catch (const Error& error) {
      if (rules_.path_is_named) throw;  // the user's mistake; the run's own file may have been cut by a crash
      stored_.doubt = error.what();
    }
  }

  void take(AlgorithmChoices read) {
    if (read.platform == stored_.choices.platform) {
      stored_.choices = std::move(read);
      return;
    }
    stored_.doubt =
        fmt::format("{} is of {}, this is {}", rules_.path, read.platform.text(), stored_.choices.platform.text());
  }

  /// The rank that times each of the problems that any rank is missing: one of those that have it, in turn.
  std::map<std::string, int> share(const Problems& missing) const {
    std::string mine;
    for (const auto& [problem, flops] : missing) mine += problem + '\n';
    std::map<std::string, std::vector<int>> by_problem;
    int rank = 0;
    for (const std::string& of_rank : gather_bytes(mine, control_)) {
      std::istringstream lines(of_rank);
      for (std::string problem; std::getline(lines, problem);) by_problem[problem].push_back(rank);
      ++rank;
    }
    std::map<std::string, int> who;
    std::size_t turn = 0;
    for (const auto& [problem, ranks] : by_problem) who[problem] = ranks[turn++ % ranks.size()];
    return who;
  }

  /// Rank 0 decides for all, by its own figures.
  bool worth_timing(const Problems& missing) const {
    if (!rules_.may_time) return false;
    if (rules_.how == AlgorithmSearch::timed) return true;
    std::vector<double> untimed;
    for (const auto& [problem, flops] : missing) untimed.push_back(flops);
    const TimingCost cost = timing_cost(untimed, rules_.building_flops, control_.size(), rules_.step_flops,
                                        config_.train.steps - stored_.step);
    std::int32_t worthwhile = cost.worthwhile() ? 1 : 0;
    control_.broadcast(&worthwhile, 1, DType::i32, 0);
    log::info("{} = {}: {}; timing takes {:.2g} FLOPs of a rank, {:.2g} % of the {:.2g} that are left", rules_.option,
              rules_.how, worthwhile != 0 ? "timed" : "by heuristic", cost.timing,
              cost.left > 0 ? 100 * cost.timing / cost.left : 100.0, cost.left);
    return worthwhile != 0;
  }

  /// Warns where the run's bits may come from choices that it no longer has. A run that never timed anything, such as a
  /// short one, has no file and misses none.
  void warn_of_others(std::size_t missing, bool timed) const {
    if (control_.rank() != 0 || missing == 0) return;
    const char* const how = timed ? "timed anew" : "chosen by heuristic";
    if (!stored_.doubt.empty()) {
      if (timed || stored_.is_there || stored_.used)
        log::warning("{}: {} are {}; {}", stored_.doubt, rules_.many, how, within_rounding);
    } else if (stored_.is_there && directory_.resumes) {
      log::warning("{} has no algorithm for {} {}: they are {}; {}", rules_.path, missing, rules_.many, how,
                   within_rounding);
    }
  }

  void time(const Problems& missing, const std::map<std::string, int>& who) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::string> mine;
    for (const auto& [problem, flops] : missing) {
      if (who.at(problem) == control_.rank()) mine.push_back(problem);
    }
    const AlgorithmChoices timed =
        mine.empty() ? AlgorithmChoices{.platform = stored_.choices.platform} : library_.time(mine);
    for (const std::string& of_rank : gather_bytes(text_of(timed), control_)) {
      stored_.choices.by_problem.merge(parse_algorithm_choices(rules_.kind, of_rank, "a rank's choices").by_problem);
    }
    if (control_.rank() == 0) {
      directory_.owner.verify();
      write_algorithm_choices(rules_.path, stored_.choices);
    }
    log::info("timed the algorithms of {} {} in {:.1f} s, for {}", who.size(), rules_.many, seconds_since(start),
              rules_.path);
  }

  /// Notes in the run's directory that its bits come from choices: a later start that no longer has the choices could
  /// not know that otherwise.
  void keep_in_mind() const {
    if (control_.rank() != 0 || stored_.used) return;
    directory_.owner.verify();
    if (!replace_file(rules_.used_path, fmt::format("The steps of this run have algorithms of {}.\n", rules_.path))) {
      throw not_written("train", rules_.used_path);
    }
  }

  const RunConfig& config_;
  const AlgorithmRules& rules_;
  const RunDirectory& directory_;
  Communicator& control_;
  const AlgorithmLibrary& library_;
  Stored stored_;
};

}  // namespace

void choose_algorithms(const RunConfig& config, const AlgorithmRules& rules, const RunDirectory& directory,
                       Communicator& control, const AlgorithmLibrary& library) {
  Choosing(config, rules, directory, control, library).choose();
}

}  // namespace octet
