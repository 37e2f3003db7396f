#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/metrics/status.h"
#include "src/metrics/step_metrics.h"

namespace octet {

/// The lines of metrics.jsonl, ascending. Of a long run they are a million, so that none keeps its time, and only the
/// last its passes. A last line without its end is being written and is left out. The text is read block by block: it
/// is larger than what is kept of it. Usage error that names file, line and reason where the file is missing, a line
/// cannot be read, or steps do not ascend; files::ReadError where the file system fails.
std::vector<StepMetrics> read_metrics(const std::string& path);

/// The lines of metrics.discarded.jsonl: steps begin anew with every start, and what a killed start left of a line is
/// left out.
std::vector<StepMetrics> read_discarded_metrics(const std::string& path);

/// The steps at which restarts continued, ascending, one for each start after the first one: the first step that the
/// start logged. A start that logged none is missing; a step at which several starts continued is listed as often.
/// Files of older versions do not say which start a line is from; for them only starts that repeated steps are known,
/// by the lines that they had discarded, `log_every` steps apart.
std::vector<std::int64_t> restart_steps(const std::vector<StepMetrics>& metrics,
                                        const std::vector<StepMetrics>& discarded, std::int64_t log_every);

/// What profile.json says: where the time of a few steps went.
struct Profile {
  /// Times in seconds by kind, in this order. They sum to `wall`, but for overlapped communication, which passes beside
  /// other kinds.
  static constexpr std::array<std::string_view, 7> kinds{
      "gemm", "attention", "memory_bound", "exposed_communication", "host", "idle", "overlapped_communication"};

  struct Rank {
    std::int64_t rank = 0;
    std::string node;
    double wall = 0;
    std::array<double, kinds.size()> seconds{};
  };
  /// A kernel, over all profiled steps of a rank.
  struct Kernel {
    std::string name, kind, phase;
    std::int64_t calls = 0;
    double seconds = 0;
    double bytes = 0;
  };

  std::int64_t first_step = 0, last_step = 0;
  std::vector<Rank> ranks;
  std::vector<Kernel> kernels;  ///< largest first
};

/// Usage error with file, and line or what is missing, where it cannot be read or is not of this form.
Profile read_profile(const std::string& path);

/// What a run directory holds, as a report reads it. The run may still be going on.
struct RunFiles {
  std::string path;  ///< as it was named
  std::string name;  ///< for readers; no other run of the report has it
  /// As it can be believed (src/owner/evidence.h): "lost" where the process was killed. While the file says "running",
  /// its step is that of the last save, and the last one that was logged stands here.
  RunStatus status;
  /// "section.key" to its value, as config.yaml has it; empty where a run failed before it wrote that.
  std::map<std::string, std::string> config;
  std::map<std::string, std::string> model;  ///< keys of model.yaml to their values; empty of older versions
  std::string parameters;                    ///< of the model, "4,852,992"; empty where model.yaml does not say it
  std::vector<StepMetrics> metrics;          ///< as read_metrics() has them
  std::vector<StepMetrics> discarded;        ///< of steps that were done again, in the order of the starts
  std::optional<Profile> profile;

  /// The value of a key of config.yaml; "" where it is not there, as in runs of other versions.
  std::string option(const std::string& key) const;
};

/// Reads the files. Usage error that names file and line where one is damaged, and where there is no status.json. The
/// others need not be there: a run that failed before its first step has little more. A last line of metrics.jsonl that
/// is not complete yet is left out.
RunFiles read_run(const std::string& path);

/// The runs of these directories, each with the shortest end of its path as a name that tells it from the others.
/// Usage error where two are the same directory.
std::vector<RunFiles> read_runs(const std::vector<std::string>& paths);

}  // namespace octet
