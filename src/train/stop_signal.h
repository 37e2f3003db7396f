#pragma once

namespace octet {

/// SIGINT and SIGTERM ask for an end at the next step boundary instead of killing the process; the second one of them
/// ends it at once. Install once, before training.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// Number of the signal that arrived at this process, 0 for none.
  int received() const;
};

}  // namespace octet
