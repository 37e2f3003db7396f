#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/owner/record.h"

namespace octet {

/// What could be learnt about the owner of a run directory; what could not is empty.
struct OwnerEvidence {
  /// Says whether that very process is alive. It is looked for only in the same boot and pid namespace.
  std::optional<bool> process_lives{};
  std::optional<bool> job_over{};       ///< what Slurm says: no process of that job, or of that restart of it, is left
  std::optional<double> age_seconds{};  ///< since it was last heard of, by the file server's clock
};

enum class OwnerState : std::uint8_t {
  at_work,         ///< nothing says that it is gone
  released,        ///< it left the directory to the next
  earlier_launch,  ///< of the same job as the process that asks
  no_process,      ///< its machine has no such process
  job_over,        ///< Slurm has ended its job
  silent,          ///< it was not heard of for too long
};

/// What could be learnt about an owner, and what follows from it.
struct OwnerStanding {
  OwnerRecord owner{};
  OwnerState state = OwnerState::at_work;
  std::optional<double> age_seconds{};  ///< as OwnerEvidence has it
  std::optional<std::string> told{};    ///< of one that is gone: who told its job to end (told_to_end.h)

  bool gone() const { return state != OwnerState::at_work; }
};

/// How long an owner may be silent until it is gone: 600 s. Tests shorten it by OCTET_TEST_OWNER_SECONDS.
double owner_patience_seconds();

/// Judges whether an owner is gone, for a process of the launch `mine` that asks. The function is pure. Any one sign is
/// enough, but where a process is seen to live, Slurm's word is not taken.
OwnerState judge_owner(const OwnerRecord& owner, const JobLaunch& mine, const OwnerEvidence& seen, double patience);

/// Says whether asking Slurm can change the verdict: it takes seconds.
bool needs_slurm(const OwnerRecord& owner, const JobLaunch& mine, const OwnerEvidence& seen, double patience);

/// "there is no such process on its machine any more"; of at_work "it is at work".
std::string text_of(OwnerState state);

}  // namespace octet
