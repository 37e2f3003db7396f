#include "src/train/run/choose_gemms.h"

#include <chrono>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "checkpoints/read_together.h"
#include "checkpoints/restore.h"
#include "checkpoints/same_files.h"
#include "kernels/gemm_timing.h"
#include "src/base/log.h"
#include "src/base/seconds_since.h"
#include "src/comm/host_exchange.h"
#include "src/comm/watchdog.h"

namespace octet {
namespace {

constexpr const char* within_rounding = "losses go on within rounding, not to the bit";

/// By their texts, so that every rank has them in the same order.
using Products = std::map<std::string, Gemm>;

Products products_of(const GemmList& gemms, const GemmBackend& backend) {
  Products all;
  for (const Gemm& gemm : gemms.distinct) {
    for (const Gemm& product : backend.products(gemm)) all.emplace(backend.problem(product), product);
  }
  return all;
}

/// What rank 0 found.
struct Stored {
  GemmChoices choices;    ///< for all; empty, of rank 0's platform, where there are none to use
  bool is_there = false;  ///< a file of choices
  std::string doubt{};    ///< why earlier choices, if there were any, cannot be used
  std::int64_t step = 0;  ///< from which the run goes on, as far as names of checkpoints say
};

class Choosing {
 public:
  Choosing(const RunConfig& config, const GemmList& gemms, const RunDirectory& directory, Communicator& control,
           const GemmBackend& backend)
      : config_(config), gemms_(gemms), directory_(directory), control_(control), backend_(backend) {}

  void choose() {
    const OperationScope operation("choice of the GEMMs' algorithms");
    read_together();
    const GemmPlatform mine = backend_.platform();
    const bool same = mine == stored_.choices.platform;
    if (!same) {
      log::shared_warning("GEMMs of rank 0 are chosen for {}, this is {}: the heuristic chooses here",
                          stored_.choices.platform.text(), mine.text());
    }
    const Products all = same ? products_of(gemms_, backend_) : Products();
    Products missing;
    for (const auto& [problem, product] : all) {
      if (!stored_.choices.by_problem.contains(problem)) missing.emplace(problem, product);
    }
    const std::map<std::string, int> who = share(missing);
    const bool timed = !who.empty() && worth_timing(missing);
    warn_of_others(who.size(), timed);
    if (timed) time(missing, who);
    if (same && !stored_.choices.by_problem.empty()) {
      log::info("{} GEMMs take the algorithms of {}", all.size() - (timed ? 0 : missing.size()), path());
    }
    backend_.use(same ? stored_.choices : GemmChoices{.platform = mine});
  }

 private:
  std::string path() const {
    return config_.cuda.gemm_plans.empty() ? directory_.gemm_plans() : config_.cuda.gemm_plans;
  }

  /// Rank 0's reading of the file, for all.
  void read_together() {
    stored_.choices.platform = backend_.platform();
    std::optional<checkpoint::ReadError> unread;
    try {
      checkpoint::ReadProgress progress;
      if (control_.rank() == 0) checkpoint::with_retries(progress, [&] { read(); });
    } catch (const checkpoint::ReadError& error) {
      unread = error;
    }
    checkpoint::agree_on_reading(unread, control_);
    stored_.choices = parse_gemm_choices(broadcast_bytes(text_of(stored_.choices), 0, control_), path());
  }

  void read() {
    if (directory_.resumes) {
      const auto saved = checkpoint::list_checkpoints(directory_.checkpoints());
      if (!saved.empty()) stored_.step = checkpoint::step_of(saved.front()).value_or(0);
    }
    if (!checkpoint::is_there(path())) {
      if (directory_.resumes) stored_.doubt = fmt::format("{} is not there", path());
      return;
    }
    stored_.is_there = true;
    try {
      take(parse_gemm_choices(checkpoint::read_file(path()), path()));
    } catch (const checkpoint::ReadError&) {
      throw;
    } catch (const Error& error) {
      if (!config_.cuda.gemm_plans.empty()) throw;  // a person's mistake; the run's own was cut by a machine's end
      stored_.doubt = error.what();
    }
  }

  void take(GemmChoices read) {
    if (read.platform == stored_.choices.platform) {
      stored_.choices = std::move(read);
      return;
    }
    stored_.doubt =
        fmt::format("{} is of {}, this is {}", path(), read.platform.text(), stored_.choices.platform.text());
  }

  /// The rank that times each of the products that any rank is missing: one of those that have it, in turn.
  std::map<std::string, int> share(const Products& missing) const {
    std::string mine;
    for (const auto& [problem, product] : missing) mine += problem + '\n';
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
  bool worth_timing(const Products& missing) const {
    if (!config_.cuda.may_time()) return false;
    if (config_.cuda.gemm == CudaGemmChoice::timed) return true;
    std::vector<Gemm> untimed;
    for (const auto& [problem, product] : missing) untimed.push_back(product);
    const TimingCost cost =
        timing_cost(untimed, control_.size(), gemms_.step_flops, config_.train.steps - stored_.step);
    std::int32_t worthwhile = cost.worthwhile() ? 1 : 0;
    control_.broadcast(&worthwhile, 1, DType::i32, 0);
    log::info("cuda.gemm = {}: {}; timing takes {:.2g} FLOPs of a rank, {:.2g} % of the {:.2g} that are left",
              config_.cuda.gemm, worthwhile != 0 ? "timed" : "by heuristic", cost.timing,
              cost.left > 0 ? 100 * cost.timing / cost.left : 100.0, cost.left);
    return worthwhile != 0;
  }

  /// What the run's bits may owe to choices that it no longer has. A run that never timed anything, as a short one,
  /// has no file and misses none.
  void warn_of_others(std::size_t missing, bool timed) const {
    if (control_.rank() != 0 || missing == 0) return;
    const char* const how = timed ? "timed anew" : "chosen by heuristic";
    if (!stored_.doubt.empty()) {
      if (timed || stored_.is_there) log::warning("{}: GEMMs are {}; {}", stored_.doubt, how, within_rounding);
    } else if (stored_.is_there && directory_.resumes) {
      log::warning("{} has no algorithm for {} GEMM(s): they are {}; {}", path(), missing, how, within_rounding);
    }
  }

  void time(const Products& missing, const std::map<std::string, int>& who) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<Gemm> mine;
    for (const auto& [problem, product] : missing) {
      if (who.at(problem) == control_.rank()) mine.push_back(product);
    }
    const GemmChoices timed = mine.empty() ? GemmChoices{.platform = stored_.choices.platform} : backend_.time(mine);
    for (const std::string& of_rank : gather_bytes(text_of(timed), control_)) {
      stored_.choices.by_problem.merge(parse_gemm_choices(of_rank, "a rank's choices").by_problem);
    }
    if (control_.rank() == 0) {
      directory_.owner.verify();
      write_gemm_choices(path(), stored_.choices);
    }
    log::info("timed the algorithms of {} GEMMs in {:.1f} s, for {}", who.size(), seconds_since(start), path());
  }

  const RunConfig& config_;
  const GemmList& gemms_;
  const RunDirectory& directory_;
  Communicator& control_;
  const GemmBackend& backend_;
  Stored stored_;
};

}  // namespace

GemmBackend gemm_backend(Stream& stream) {
  return {.platform = [&stream] { return gemm_platform(stream); },
          .products = [&stream](const Gemm& args) { return library_products(stream, args); },
          .problem = gemm_problem,
          .time = [&stream](std::span<const Gemm> products) { return time_gemms(stream, products); },
          .use = use_gemm_choices};
}

void choose_gemms(const RunConfig& config, const GemmList& gemms, const RunDirectory& directory, Communicator& control,
                  const GemmBackend& backend) {
  Choosing(config, gemms, directory, control, backend).choose();
}

void choose_gemms(const RunConfig& config, const RunEnvironment& environment) {
  const DeviceType device = environment.stream.device().type();
  if (device != DeviceType::cuda) return;
  if (!config.cuda.may_time() && config.cuda.gemm_plans.empty()) return;  // nothing is in force: the heuristic chooses
  Mesh& mesh = environment.mesh;
  choose_gemms(config, gemms_of_run(config, mesh.shape(), mesh.world().rank(), device), environment.directory,
               environment.control, gemm_backend(environment.stream));
}

}  // namespace octet
