#pragma once

namespace octet::cuda {

/// Says whether the driver offers multicast to the device of that index; false where it does not say. CUDA is started.
bool has_multicast(int index);

}  // namespace octet::cuda
