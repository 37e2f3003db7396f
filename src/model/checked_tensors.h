#pragma once

#include <array>
#include <string>
#include <vector>

namespace octet {

/// The tensors of a unit whose non-finite elements are counted: inputs of the linears and their output gradients.
/// "attention output" and "grad wv" are counted only by linears of a recipe that casts first (tensorwise, delayed), for
/// which a pass casts or measures them anyway.
/// "input" and "grad" are the residual stream's at the unit's border (the head's input, the embedding's gradient).
enum CheckedTensor : int {
  checked_input,
  checked_attention_input,
  checked_attention_output,
  checked_ffn_input,
  checked_ffn_product,
  checked_grad,
  checked_grad_wo,
  checked_grad_q,
  checked_grad_k,
  checked_grad_v,
  checked_grad_w1,
  checked_grad_w3,
  checked_tensors
};

constexpr auto checked_tensor_texts =
    std::to_array<const char*>({"input", "attention input", "attention output", "ffn input", "ffn product", "gradient",
                                "grad wo", "grad wq", "grad wk", "grad wv", "grad w1", "grad w3"});
static_assert(checked_tensor_texts.size() == checked_tensors);

inline std::vector<std::string> checked_tensor_names() {
  return {checked_tensor_texts.begin(), checked_tensor_texts.end()};
}

}  // namespace octet
