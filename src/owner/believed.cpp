#include "src/owner/believed.h"

#include <fmt/format.h>

namespace octet {

RunStatus believed(RunStatus status, const std::optional<OwnerStanding>& owner) {
  if (status.state != "running" || !owner || !owner->gone()) return status;
  status.state = "lost";
  status.reason = fmt::format("it could not say why it ended: {}: {}", describe(owner->owner), text_of(owner->state));
  return status;
}

}  // namespace octet
