#pragma once

#include <nccl.h>

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/comm/in_flight.h"
#include "src/comm/nccl/nccl_api.h"
#include "src/comm/nccl_settings.h"
#include "src/comm/operation.h"
#include "src/device/device.h"

namespace octet {

/// One non-blocking communicator of NCCL and what was given to the device through it. NCCL and the device are called
/// by the main thread alone. For NCCL that is more than a matter of blocking: ncclCommGetAsyncError is no mere
/// question. Since 2.26 its first success after a call also joins and frees the job that carried the call, without a
/// lock, so that two threads that ask would free it twice (ncclGroupJobComplete in NCCL's src/group.cc).
class NcclGroup final : public InFlight {
 public:
  /// Collective over the `ranks` ranks that have the same `ids`. Polls under the deadline of an operation of its own.
  NcclGroup(const NcclApi& api, const NcclGroupSettings& settings, std::vector<ncclUniqueId> ids, int rank, int ranks,
            std::string name, Stream& stream);
  /// Waits for NCCL to let go, for seconds at most. After an error, while one is on its way, and while a call is still
  /// in progress, it is aborted.
  ~NcclGroup() override;
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  ncclComm_t get() const { return comm_; }
  /// The name of the group that it was made for.
  const std::string& name() const { return name_; }
  /// Another group that calls NCCL through this, for messages that concern no call.
  void add_user(const std::string& name) { users_ += (users_.empty() ? "" : ", ") + name; }
  bool failed() const { return failed_; }
  /// Waits until NCCL has taken all that it was given on the host. Throws Error (lost_peer) on its error or the
  /// deadline; internal error where NCCL says that a call was wrong.
  void wait_until_ready(const OperationScope& operation);
  /// Checks the result of a call of NCCL for this group: throws on all but success and "in progress".
  void check(ncclResult_t result, const OperationScope& operation);
  /// Whether the open group of NCCL can take `exchanges` more sends and receives of this communicator; if so, they are
  /// counted.
  bool takes(int exchanges);
  /// The group of NCCL has ended.
  void ended() { exchanges_ = 0; }
  /// The host may be ahead of the device by fewer operations than this: with FSDP those of a dozen blocks, with tensor
  /// parallelism those of about three, which should cover what delays the host (not measured). With parallel.async_tp
  /// each of a block's four exchanges in a direction is size() - 1 operations, so that with 8 ranks it is less than a
  /// block. Without a bound the host would run ahead until CUDA takes no more launches, and block there, where it
  /// cannot ask NCCL for errors.
  static constexpr std::size_t most_ahead = 24;

  /// The stream has been given `operation`. Waits until the device is less than most_ahead behind.
  void launched(std::string operation);

  void poll() override;
  std::string oldest() const override;

 private:
  /// Takes out what is done; the events are used again.
  void retire();
  /// The state that NCCL reports now.
  ncclResult_t state() const;
  std::string describe(ncclResult_t result) const;
  void give_back() noexcept;

  const NcclApi& api_;
  std::string name_;
  std::string users_;  ///< groups beside that of the name
  Stream& stream_;
  ncclComm_t comm_ = nullptr;
  bool failed_ = false;
  int exchanges_ = 0;                        ///< in the group of NCCL that is open
  std::deque<std::unique_ptr<Event>> done_;  ///< of each operation that was launched, in the order of the stream
  std::vector<std::unique_ptr<Event>> idle_;
  mutable std::mutex mutex_;          ///< held for no call of NCCL or the device
  std::deque<std::string> launched_;  ///< these operations, for any thread to read; written by the main thread
  InFlightScope seen_;
};

}  // namespace octet
