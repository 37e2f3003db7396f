#pragma once

#include <functional>

#include "src/comm/communicator.h"

namespace octet {

/// Runs `work` on every rank: it opens the rank's GPU, or loads a library of CUDA, and calls nothing collective. Where
/// it fails on at most half of the hosts, all ranks throw the same error, which tells a job to leave these hosts out;
/// where it fails on more, all throw what it threw on the first such rank, which is named (src/comm/agreement.h).
/// Collective.
void use_gpu_together(Communicator& control, const std::function<void()>& work);

}  // namespace octet
