#pragma once

#include <vector>

#include "src/model/block.h"
#include "src/model/llama_settings.h"
#include "src/model/stages.h"

namespace octet {

/// Says whether backward passes follow forward ones, for which a slot keeps its activations.
enum class PassMode { training, forward_only };

/// What a model's slots have in common.
struct SlotContext {
  OpContext& op;
  const ModelConfig& part;                   ///< this rank's part of the model
  const std::vector<BlockLinears>& linears;  ///< by layer
  const Recipe& recipe;
  const Float8Scaling& scaling;
  Arena& recomputed;  ///< memory for activations that blocks make in turns
};

/// A micro-batch's pass through a stage: its activations, and where its residual stream and its abs-maxes are.
struct Slot {
  enum class Progress : std::uint8_t { free, begun, forwarded, weights_left };

  SlotContext model;
  Arena activations;
  Progress progress = Progress::free;
  bool trains = false;
  const Stage* stage = nullptr;
  const std::int32_t* tokens = nullptr;
  RowDocuments documents{};
  CachedTokens cached{};
  BatchShape shape{};
  Tensor branch{};                            ///< branch of the last block so far, whose result is h_middle + branch
  Tensor dh{};                                ///< gradient of the residual stream; see Llama::out()
  void* dh_codes = nullptr;                   ///< place of dh in fp8, while the scale is known before
  OutputGradient top{};                       ///< dh as the output gradient of the last block's w2
  std::int64_t gemm_multiprocessors = 0;      ///< Gemm::multiprocessors of its blocks' forward
  float* input_amaxes = nullptr;              ///< abs-maxes that the pass records, [layers, block_inputs], or null
  float* gradient_amaxes = nullptr;           ///< the same, [layers, block_linears]; null also where it does not train
  std::int64_t blocks_mark = 0;               ///< mark of `activations` before the first block
  std::vector<BlockActivations> blocks{};     ///< blocks so far, from the stage's first
  std::vector<DeferredGradients> deferred{};  ///< gradients between the two parts of backward, by block; else empty

  /// Gives back what the pass before held, and takes memory for this one and for its first block, whose input's place
  /// is returned.
  Tensor begin(PassMode mode, const Stage& next_stage, const BatchShape& next_shape, const CachedTokens& next_cached);
  /// Takes memory for the next block. Without training one set of activations serves every block.
  BlockActivations& add_block();

  std::size_t place_of(std::int64_t layer) const { return static_cast<std::size_t>(layer - stage->first_layer); }
  BlockActivations& block(std::int64_t layer) { return blocks[place_of(layer)]; }
  /// What the last block so far has made.
  BlockResult result() const { return {blocks.back().h_middle, branch}; }
  BlockScales scales(std::int64_t layer) const;
  /// The gradient of a block's result, which is its w2's output gradient. Below the first block nobody asks for its
  /// abs-max or its fp8 form.
  OutputGradient gradient_of(std::int64_t layer);
  /// Places for what the block's backward leaves for later; null where it makes all at once.
  DeferredGradients* deferred_of(std::int64_t layer);

 private:
  BlockActivations allocate_block(std::int64_t layer);
};

}  // namespace octet
