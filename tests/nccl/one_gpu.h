#pragma once

namespace octet::test {

/// Tells NCCL that the ranks of this machine, which all use its first GPU, are of different nodes. What a program's
/// open_device does, for test programs: before whatever may load NCCL. Collective over all ranks, the first time.
void share_one_gpu();

}  // namespace octet::test
