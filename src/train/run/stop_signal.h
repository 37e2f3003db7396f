#pragma once

#include <csignal>

namespace octet {

/// SIGINT, SIGTERM and SIGUSR1 (which Slurm's --signal sends before a time limit) ask for an end at the next step
/// boundary instead of killing the process. A SIGINT or SIGTERM more than a second after the first of them ends it at
/// once: launchers may deliver one request twice. SIGUSR1 never does. Install once, before anything that takes long;
/// the end of its life puts back what was there before.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// Number of the first signal that arrived at this process, 0 for none.
  int received() const;

 private:
  struct sigaction before_[3];
};

}  // namespace octet
