#pragma once

#include <span>
#include <string>

#include "kernels/algorithm_choices.h"
#include "kernels/attention.h"

namespace octet {

// How a run learns which of cuDNN's plans for its attention is the fastest, before its first step; as
// kernels/gemm_timing.h is for GEMMs. In a build without CUDA each of these is an internal error. Not thread-safe; none
// may be called while a CUDA graph is captured.

/// What choices of this process are valid for: version 0 where there is no cuDNN. Loads it, as all that follows.
AlgorithmPlatform attention_platform(Stream& stream);

/// Says whether cuDNN has a plan, so that there is something to choose. Asking takes it up to a second.
bool has_attention_plan(Stream& stream, const AttentionProblem& problem);

/// Why Octet's own kernels serve for rows of several documents, with `places` and `longest` as of PackedDocuments;
/// empty where cuDNN does. Asking takes it up to two seconds.
std::string why_no_document_plan(Stream& stream, const AttentionProblem& problem, std::int64_t places,
                                 std::int64_t longest);

/// The fastest plan of each problem, all of which must have one. Timed are at most timed_proposals plans of each that
/// cuDNN's heuristics propose and whose workspace is no larger than attention_workspace_bound, on operands made for it:
/// normally distributed, and for the backward pass what a forward pass has left. Waits for the stream.
AlgorithmChoices time_attention(Stream& stream, std::span<const AttentionProblem> problems);

/// Puts choices in force, in place of all earlier ones: what is not among them takes the first plan that the heuristic
/// proposes, as all does with cuda.deterministic. To be called before the first step.
void use_attention_choices(const AlgorithmChoices& choices);

}  // namespace octet
