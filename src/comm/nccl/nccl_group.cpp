#include "src/comm/nccl/nccl_group.h"

#include <sched.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/comm/nccl/nccl_reason.h"

namespace octet {
namespace {

/// The time that NCCL gets to end a communicator.
constexpr auto patience = std::chrono::seconds(10);

/// NCCL's MAXCHANNELS, which is also what it takes where nothing is said.
constexpr int most_ctas = 64;

/// Where this build's nccl.h knows it.
template <typename Config>
void set_cta_policy(Config& config, int policy, const std::string& what) {
  if constexpr (requires { config.CTAPolicy; }) {
    config.CTAPolicy = policy;
  } else {
    throw usage_error("comm", "{}: this program was built with NCCL {}.{}, which does not know it", what, NCCL_MAJOR,
                      NCCL_MINOR);
  }
}

ncclConfig_t config_of(const NcclApi& api, const NcclGroupSettings& settings, const std::string& group) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  if (settings.min_ctas > 0) config.minCTAs = static_cast<int>(settings.min_ctas);
  if (settings.max_ctas > 0) config.maxCTAs = static_cast<int>(settings.max_ctas);
  // NCCL compares the two before it fills in its defaults, and would refuse a lower limit without an upper one.
  if (settings.min_ctas > 0 && settings.max_ctas == 0) config.maxCTAs = most_ctas;
  if (settings.cta_policy == CtaPolicy::standard) return config;
  const std::string what = fmt::format("nccl.{}_cta_policy = {}", group, settings.cta_policy);
  const int needed =
      settings.cta_policy == CtaPolicy::efficiency ? 22700 : 22800;  // a library that is older would ignore it
  int version = 0;
  if (api.get_version(&version) != ncclSuccess || version < needed) {
    throw usage_error("comm", "{}: needs NCCL {}.{}, found version {}", what, needed / 10000, needed / 100 % 100,
                      version);
  }
  set_cta_policy(config, static_cast<int>(settings.cta_policy),
                 what);  // NCCL's numbers, from NCCL_CTA_POLICY_DEFAULT = 0
  return config;
}

}  // namespace

NcclGroup::NcclGroup(const NcclApi& api, const NcclGroupSettings& settings, std::vector<ncclUniqueId> ids, int rank,
                     int ranks, std::string name, Stream& stream)
    : api_(api), name_(std::move(name)), stream_(stream), seen_(*this) {
  ncclConfig_t config = config_of(api, settings, name_);
  config.commName = name_.c_str();
  const bool several = ids.size() > 1;
  const OperationScope operation(several ? "ncclCommInitRankScalable" : "ncclCommInitRankConfig", name_);
  const ncclResult_t result =
      several ? api_.comm_init_rank_scalable(&comm_, ranks, rank, static_cast<int>(ids.size()), ids.data(), &config)
              : api_.comm_init_rank_config(&comm_, ranks, ids.front(), rank, &config);
  try {
    check(result, operation);
    wait_until_ready(operation);
  } catch (...) {
    failed_ = true;  // in here no exception counts as under way
    give_back();
    throw;
  }
}

NcclGroup::~NcclGroup() {
  give_back();
}

void NcclGroup::give_back() noexcept {
  done_.clear();
  {
    const std::lock_guard lock(mutex_);
    launched_.clear();
  }
  const ncclComm_t comm = std::exchange(comm_, nullptr);
  if (comm == nullptr) return;
  const OperationScope operation("ncclCommFinalize", name_);
  bool ended = false;
  // One that was given up at a deadline may still be in progress, in which NCCL refuses to finalize it.
  ncclResult_t now = ncclSuccess;
  const bool ready = api_.comm_get_async_error(comm, &now) == ncclSuccess && now == ncclSuccess;
  if (ready && !failed_ && std::uncaught_exceptions() == 0) {
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

ncclResult_t NcclGroup::state() const {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t result = api_.comm_get_async_error(comm_, &state);
  return result == ncclSuccess ? state : result;
}

void NcclGroup::wait_until_ready(const OperationScope& operation) {
  for (;;) {
    const ncclResult_t now = state();
    check(now, operation);
    if (now == ncclSuccess) return;
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

bool NcclGroup::takes(int exchanges) {
  if (exchanges_ + exchanges > api_.most_exchanges) return false;
  exchanges_ += exchanges;
  return true;
}

void NcclGroup::launched(std::string operation) {
  retire();
  if (idle_.empty()) idle_.push_back(stream_.device().make_event());
  {
    const std::lock_guard lock(mutex_);
    launched_.push_back(std::move(operation));
  }
  stream_.record(*idle_.back());
  done_.push_back(std::move(idle_.back()));
  idle_.pop_back();
  if (done_.size() < most_ahead) return;
  const OperationScope catching_up("wait for the device, which is behind", name_);
  while (done_.size() >= most_ahead) {
    sched_yield();
    poll_in_flight();
    catching_up.check_deadline();
  }
}

void NcclGroup::retire() {
  while (!done_.empty() && done_.front()->complete()) {
    idle_.push_back(std::move(done_.front()));
    done_.pop_front();
    const std::lock_guard lock(mutex_);
    launched_.pop_front();
  }
}

void NcclGroup::poll() {
  if (comm_ == nullptr || failed_) return;
  retire();
  const ncclResult_t now = state();
  if (now == ncclSuccess || now == ncclInProgress) return;
  failed_ = true;
  throw Error(ExitCode::lost_peer,
              fmt::format("[comm] group {}{}: {}{}", name_, users_.empty() ? "" : " (and " + users_ + ")",
                          describe(now), launched_.empty() ? "" : "; not done: " + launched_.front()));
}

std::string NcclGroup::oldest() const {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return "an operation in group " + name_ + " that is being launched";
  return launched_.empty() ? "" : launched_.front();
}

std::string NcclGroup::describe(ncclResult_t result) const {
  std::string text = nccl_reason(api_, result);
  if (result == ncclRemoteError) text += "; another rank has ended or cannot be reached";
  // Of what NCCL asks of this host: memory in /dev/shm or locked for a card, files, threads; a connection too.
  if (result == ncclSystemError)
    text += "; a call of the system failed on this host, or another rank cannot be reached";
  return text;
}

}  // namespace octet
