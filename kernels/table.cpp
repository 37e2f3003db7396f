#include "kernels/table.h"

#include "src/profile/timeline.h"

namespace octet {

const KernelTable& kernels_of(const Stream& stream) {
  const DeviceType device = stream.device().type();
  if (!stream.device().has_memory()) return dry_kernels(device, stream.device().workspaces());
  if (Timeline::current() != nullptr) return timed_kernels(device);
  return watched_kernels(device);
}

}  // namespace octet
