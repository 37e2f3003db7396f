#pragma once

#include "src/comm/mesh.h"
#include "src/model/llama_settings.h"
#include "src/train/plan/memory_plan.h"

namespace octet {

/// What a ForwardModel of these settings takes of such a device, and with LlamaSettings::cache_rows a Generator too:
/// both are made on one without memory, loaded, and do a pass there. The sum is the most that is held at once, while
/// weights are loaded or later; what a pass is told of its tokens is not in it, some 100 bytes a token. `rank`: of that
/// mesh. `workspaces`: of which device's kernels they are as large as: the CPU's, or those of `type` (kernels/table.h).
MemoryPlan plan_forward(const LlamaSettings& settings, const MeshShape& mesh, int rank, int ranks_on_node,
                        DeviceType type, DeviceType workspaces);

/// Usage error, the same on all ranks, where a rank's model does not fit its device beside those of the other ranks:
/// with what is needed, what there is, and what would help. Before anything is read or allocated. Collective over
/// `control`.
void expect_room(const LlamaSettings& settings, Mesh& mesh, Device& device, Communicator& control);

}  // namespace octet
