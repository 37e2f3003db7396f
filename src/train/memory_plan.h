#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "src/comm/mesh.h"
#include "src/device/device.h"
#include "src/model/llama.h"
#include "src/parallel/fsdp_weights.h"

namespace octet {

/// Bytes of one rank by purpose, known before anything is allocated.
struct MemoryPlan {
  std::array<std::int64_t, static_cast<int>(Purpose::count)> bytes{};  ///< on the device
  std::int64_t nccl = 0;  ///< what NCCL takes of the device beside them: an upper estimate (nccl_needs.h)
  std::int64_t host = 0;  ///< of checkpoints: memory of the host, also where that is the device

  std::int64_t& operator[](Purpose p) { return bytes[static_cast<std::size_t>(p)]; }
  std::int64_t operator[](Purpose p) const { return bytes[static_cast<std::size_t>(p)]; }
  std::int64_t total() const;  ///< of the device's purposes
};

/// Bytes of the device that communication takes beside the model.
struct CommunicationNeeds {
  std::int64_t scratch = 0;  ///< of the communicators: Purpose::communication
  std::int64_t nccl = 0;     ///< nccl_needs()
};

struct PlanInput {
  LlamaSettings settings;
  MeshShape mesh;
  FsdpOptions fsdp;
  std::int64_t micro_batches = 1;  ///< a step, of one rank
  bool buffers_kept = false;       ///< of the shard group (Communicator::memory() is not cheap)
  CommunicationNeeds communication{};
  std::int64_t host = 0;  ///< of checkpoints (model_state.h)
};

MemoryPlan plan_memory(const PlanInput& input, Stream& stream);

/// A line a purpose; with a ledger the measured peak beside it. NCCL's, which no ledger knows, is marked as estimated.
std::string memory_table(const MemoryPlan& plan, const MemoryLedger* measured);

/// Usage error with the table when such ranks do not fit: all of a node share its memory, `ranks_on_gpu` that of a GPU.
void check_fits(const MemoryPlan& plan, Device& device, int ranks_on_node, int ranks_on_gpu = 1);

}  // namespace octet
