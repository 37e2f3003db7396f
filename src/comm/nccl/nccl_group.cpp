#include "src/comm/nccl/nccl_group.h"

#include <sched.h>

#include <exception>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"

namespace octet {
namespace {

/// That NCCL gets to end a communicator.
constexpr auto patience = std::chrono::seconds(10);

}  // namespace

NcclGroup::NcclGroup(const NcclApi& api, const ncclUniqueId& id, int rank, int ranks, std::string name, Stream& stream)
    : api_(api), name_(std::move(name)), stream_(stream), seen_(*this) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.commName = name_.c_str();
  const OperationScope operation("ncclCommInitRankConfig", name_);
  ncclComm_t comm = nullptr;
  const ncclResult_t result = api_.comm_init_rank_config(&comm, ranks, id, rank, &config);
  {
    const std::lock_guard lock(mutex_);  // the watchdog may ask already
    comm_ = comm;
  }
  try {
    check(result, operation);
    wait_until_ready(operation);
  } catch (...) {
    give_back();
    throw;
  }
}

NcclGroup::~NcclGroup() {
  give_back();
}

void NcclGroup::give_back() noexcept {
  ncclComm_t comm = nullptr;
  {
    const std::lock_guard lock(mutex_);
    launched_.clear();
    comm = std::exchange(comm_, nullptr);
  }
  if (comm == nullptr) return;
  bool ended = false;
  if (!failed_ && std::uncaught_exceptions() == 0) {
    const auto begin = std::chrono::steady_clock::now();
    ncclResult_t state = api_.comm_finalize(comm);
    while (state == ncclInProgress && std::chrono::steady_clock::now() - begin < patience) {
      sched_yield();
      if (api_.comm_get_async_error(comm, &state) != ncclSuccess) break;
    }
    ended = state == ncclSuccess;
  }
  ended ? api_.comm_destroy(comm) : api_.comm_abort(comm);
}

void NcclGroup::wait_until_ready(const OperationScope& operation) {
  for (;;) {
    ncclResult_t state = ncclSuccess;
    check(api_.comm_get_async_error(comm_, &state), operation);
    check(state, operation);
    if (state == ncclSuccess) return;
    sched_yield();
    operation.check_deadline();
  }
}

void NcclGroup::check(ncclResult_t result, const OperationScope& operation) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  failed_ = true;
  const bool bug = result == ncclInvalidArgument || result == ncclInvalidUsage;
  throw Error(bug ? ExitCode::internal : ExitCode::lost_peer,
              fmt::format("[comm] {}: {}", operation.text(), describe(result)));
}

void NcclGroup::launched(std::string operation) {
  const std::lock_guard lock(mutex_);
  retire();
  if (idle_.empty()) idle_.push_back(stream_.device().make_event());
  stream_.record(*idle_.back());
  launched_.push_back({std::move(idle_.back()), std::move(operation)});
  idle_.pop_back();
}

void NcclGroup::retire() const {
  while (!launched_.empty() && launched_.front().done->complete()) {
    idle_.push_back(std::move(launched_.front().done));
    launched_.pop_front();
  }
}

std::string NcclGroup::oldest() const {
  const std::lock_guard lock(mutex_);
  try {
    retire();
  } catch (const std::exception& e) {  // the device itself has failed, and what was launched first did not end
    return (launched_.empty() ? name_ : launched_.front().operation) + ": " + e.what();
  }
  return launched_.empty() ? "" : launched_.front().operation;
}

std::string NcclGroup::error() const {
  const std::lock_guard lock(mutex_);
  ncclResult_t state = ncclSuccess;
  if (comm_ == nullptr || api_.comm_get_async_error(comm_, &state) != ncclSuccess) return {};
  if (state == ncclSuccess || state == ncclInProgress) return {};
  return fmt::format("group {}: {}{}", name_, describe(state),
                     launched_.empty() ? "" : "; given last: " + launched_.back().operation);
}

std::string NcclGroup::describe(ncclResult_t result) const {
  const char* const last = comm_ == nullptr ? nullptr : api_.get_last_error(comm_);
  const std::string more = last == nullptr || *last == '\0' ? "" : fmt::format(" ({})", last);
  return fmt::format(
      "NCCL: {}{}{}", api_.get_error_string(result), more,
      result == ncclRemoteError || result == ncclSystemError ? "; another rank has ended or cannot be reached" : "");
}

}  // namespace octet
