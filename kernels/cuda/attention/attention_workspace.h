#pragma once

#include <cstdint>

#include "kernels/attention.h"

namespace octet::cuda {

/// The bytes that are kept for a plan of cuDNN's, whichever is chosen: known from the sizes alone, so that a memory
/// plan is the same with a GPU and without one. For H100s the first proposal keeps to it
/// (tests/cuda/attention_test.cpp, with cuDNN 9.19 and 9.26). On another GPU or with another version, a first proposal
/// that wants more gets it, and no other is chosen in its place. For a deterministic plan this is what it wants on an
/// H100; where there is a GPU, the plan itself says what it wants, since it is the only one of its run.
std::int64_t attention_workspace_bound(const AttentionProblem& problem, bool deterministic);

/// The bytes that are kept for a plan for rows of so many documents, without what Octet puts there itself; for the
/// first proposal of cuDNN 9.19 for H100s (tests/cuda/attention_test.cpp). A plan that wants more is not used.
std::int64_t document_workspace_bound(const AttentionProblem& problem, std::int64_t places);

}  // namespace octet::cuda
