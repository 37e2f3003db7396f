#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "src/base/error.h"

namespace octet {

// How a rank tells why the job ends: before anything is taken apart, since that may never end. In two files, each
// written by the rank that speaks first and by no other after it:
// - the one that the environment names in OCTET_FAILURE_FILE, for whoever started the job, whose launcher's exit code
//   says too little: "71 rank 3 on node-7: MESSAGE";
// - failure.txt of the run, while a FailureFile lives: "2026-11-22T22:45:32Z node-7 rank 3 exit code 71: MESSAGE".

/// While it lives, a failure of this process is also reported to the run; one at a time. Main thread only. Its
/// destructor does not return while the watchdog is ending the process, since the watchdog's thread may be using this
/// object.
class FailureFile {
 public:
  /// `path`: a file that does not exist. `may_write`: whether the run directory is still this run's, and a failure with
  /// that code is to be reported there; it is called on any thread, as it may look into files, and must not throw.
  /// `first`: is called where this rank's message is the first one, perhaps by the watchdog's thread while the main
  /// thread hangs; so it must read nothing that the main thread may be writing, and must not throw.
  FailureFile(std::string path, std::function<bool(ExitCode)> may_write,
              std::function<void(ExitCode code, const std::string& message)> first);
  ~FailureFile();
  FailureFile(const FailureFile&) = delete;
  FailureFile& operator=(const FailureFile&) = delete;

  const std::string& path() const { return path_; }
  bool may_write(ExitCode code) const { return may_write_(code); }
  void tell(ExitCode code, const std::string& message) const { first_(code, message); }

 private:
  std::string path_;
  std::function<bool(ExitCode)> may_write_;
  std::function<void(ExitCode, const std::string&)> first_;
};

/// What became of a reason.
struct LeftReason {
  bool late = false;   ///< another rank's reason stands in failure.txt
  bool first = false;  ///< this one stands in failure.txt; or the disk is full, which several ranks may then find
  bool lost = false;   ///< one of the two files holds no reason, neither this one nor an earlier one
};
/// Puts the message, as one line, into both files, first into the one that the environment names. Any thread; needs no
/// lock, no memory and no MPI, but for what the FailureFile's may_write needs.
LeftReason leave_reason(ExitCode code, std::string_view message) noexcept;

/// Gives the process ten seconds from now on: a thread then ends it with that code, whatever hangs.
void end_soon(int exit_code);

/// Reports an exception of the main thread, once in the life of a process (later calls do nothing). Leaves the reason
/// and logs it, with rank and host. From the moment at which it speaks, the process has ten seconds left (end_soon).
/// - What every rank throws, or is likely to (`agreed`, a usage error, Error (unhealthy)), is reported only by the
///   lowest rank that has it: rank 0 speaks at once, the others after a wait that grows with the rank from 1 to 3 s,
///   within which the abort of a lower rank ends them. A rank that cannot write such a reason, since its own file
///   system is gone, returns only after 4 s, so that another rank can; for a usage error it does not wait.
/// - Error (lost_peer) is usually a consequence, so it waits for half a second, and 20 ms more for each lower rank, up
///   to 2.5 s, so that the cause can be reported first.
/// - Any other error is reported at once, by each rank that has one.
/// A rank that finds another rank's reason in failure.txt, here and in end_by_watchdog, goes on half a second later, so
/// that the other one can write status.json before the job ends.
void tell_failure(ExitCode code, const std::string& message, bool agreed = false) noexcept;

/// The watchdog's end of this process: with exit code `code` when the reason is told, and by SIGALRM ten seconds from
/// now where even that hangs. `arm_the_end` comes first, before a message is put together.
void arm_the_end() noexcept;
[[noreturn]] void end_by_watchdog(ExitCode code, std::string_view message) noexcept;
/// The main thread is already reporting a failure, and will end the process: nobody else is to end it.
bool is_failing() noexcept;

}  // namespace octet
