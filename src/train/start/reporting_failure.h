#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "src/comm/communicator.h"
#include "src/owner/lease.h"

namespace octet {

/// Who has to learn that a piece of work failed.
struct FailureContext {
  Communicator& control;        ///< src/comm/control_exchange.h
  OwnerLease* lease = nullptr;  ///< rank 0's
  bool on_gpu = false;
};

/// Runs `work` and returns its exit code. An error is reported before anything that it may concern is torn down: to
/// tear down a device waits for its work, and a thread that writes to a dead file system never ends. So where there are
/// other ranks, or a GPU, nothing is torn down at all: the job is aborted. `after_report` is called before that.
int run_reporting_failure(const FailureContext& context, const std::function<int()>& work,
                          const std::function<void()>& after_report = nullptr);

/// The same for work with another result.
template <typename Work>
auto reporting_failure(const FailureContext& context, const Work& work) {
  std::optional<decltype(work())> result;
  run_reporting_failure(context, [&] {
    result.emplace(work());
    return 0;
  });
  return *std::move(result);
}

}  // namespace octet
