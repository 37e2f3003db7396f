#pragma once

#include <cstdint>

#include "src/device/device.h"

namespace octet {

/// For devices: lists that memory is to be zeroed (src/device/work_list.h); false where the stream's work is not
/// listed, and it is to be done now.
bool lists_zero(void* memory, std::int64_t bytes, const Stream& stream);

}  // namespace octet
