#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "src/owner/owner_file.h"

namespace octet {

/// A run directory that this process owns, from the construction until release() or the end. A thread renews the time
/// of owner.json, however slow the main thread is; a process that is stopped does not. The thread calls neither MPI nor
/// HDF5.
class OwnerLease {
 public:
  /// Claims the directory, which is made, durably, where it is missing; says whom it was taken over from. Throws as
  /// claim_directory does. `patience`: seconds of silence after which others take it for gone. An owner that is only
  /// silent is watched for a tenth of that; `while_watched` is called meanwhile, at least once a second, for those who
  /// wait.
  explicit OwnerLease(const std::string& run_dir, double patience = owner_patience_seconds(),
                      const std::function<void()>& while_watched = nullptr);
  /// Does what give_back does.
  ~OwnerLease();
  OwnerLease(const OwnerLease&) = delete;
  OwnerLease& operator=(const OwnerLease&) = delete;

  const OwnerMark& mark() const { return mark_; }
  /// mark().verify(), but only where the last renewal is so long ago that somebody may have lost patience: for what is
  /// written at every step.
  void verify_if_late() const;
  /// A clean end: the next start need not wait or ask. Once; nothing is to be written to the directory afterwards.
  void release();
  /// Releases, and removes a directory that this made and nobody has put anything into. Also before an end that runs no
  /// destructor.
  void give_back() noexcept;

 private:
  void renew_until_stopped();
  void renew();
  bool is_late(double now) const;

  std::string made_;  ///< the topmost folder that the claim had to make; empty for none
  double patience_;
  Claim claim_;
  OwnerMark mark_;
  std::atomic<double> renewed_;  ///< seconds of the machine's clock that also runs while it sleeps
  bool warned_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace octet
