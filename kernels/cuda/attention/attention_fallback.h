#pragma once

#include <cstdint>

#include "kernels/attention.h"

/// Attention by kernels of our own, for what cuDNN has no plan for. Forward needs no workspace.
namespace octet::cuda {

void fallback_attention_forward(Stream&, const AttentionForward&);
void fallback_attention_backward(Stream&, const AttentionBackward&);
/// Bytes.
std::int64_t fallback_attention_backward_workspace(const AttentionShape&);

}  // namespace octet::cuda
