#pragma once

#include "src/device/device.h"

namespace octet {

/// Fills memory with bytes of 0xFF, NaN in fp32, bf16, e4m3 and e5m2, so that whoever reads what no gather has written,
/// or what was released, computes NaN. For finding such errors: slow, through the host.
void poison(Device& device, Stream& stream, void* data, std::int64_t bytes);

}  // namespace octet
