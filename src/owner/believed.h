#pragma once

#include <optional>

#include "src/metrics/status.h"
#include "src/owner/evidence.h"

namespace octet {

/// A status as it can be believed: one that says "running" of a run whose owner is gone was left by a process that was
/// killed. Its state becomes "lost", its reason says who that was and by what sign it is gone. Others, and those of
/// runs without an owner, stay as they are.
RunStatus believed(RunStatus status, const std::optional<OwnerStanding>& owner);

}  // namespace octet
