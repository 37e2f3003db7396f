#pragma once

#include <cstdint>
#include <string>

namespace octet {

/// The mesh, outermost dimension first: pp, dp_replicate, dp_shard, cp, tp.
struct ParallelConfig {
  std::int64_t dp_replicate = 1;
  std::int64_t dp_shard = 0;  ///< 0: all ranks that the other dimensions leave
  std::int64_t tp = 1;
  bool async_tp = false;          ///< parts of a gather or sum travel beside the GEMMs
  bool tp_keep_gathered = false;  ///< gathered inputs of linears stay until backward
  std::int64_t cp = 1;
  std::int64_t pp = 1;
  /// always: gathered weights are freed after forward and gathered again in backward. never: they stay until the
  /// optimizer step. auto: never for dp_shard = 1, else always.
  std::string reshard_after_forward = "auto";
  /// fp32 or bf16: in what form unreduced gradients travel between the ranks of a shard group; their sums are fp32.
  std::string gradient_wire = "fp32";
  /// Gathers and reductions on streams of their own, beside the model's work. auto: on a GPU with several shards.
  std::string overlap = "auto";
  /// A shard group of one rank gathers and reduces too, to measure on one GPU what several do.
  bool one_rank_exchange = false;
  std::int64_t check_replicas_every = 100;  ///< steps; 0: off. For master weights that ranks have in common.
};

}  // namespace octet
