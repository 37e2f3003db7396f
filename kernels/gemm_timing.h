#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/algorithm_choices.h"
#include "kernels/gemm.h"

namespace octet {

// How a run learns which algorithm of cuBLASLt is the fastest for each of its GEMMs, before its first step. In a build
// without CUDA each of these is an internal error. Not thread-safe; none may be called while a CUDA graph is captured.

/// The proposals of cuBLASLt that are tried for a product, and how often each of them runs. The first runs do not
/// count: they load the kernel and bring the GPU's clock to where it stays.
constexpr int timed_proposals = 8, uncounted_runs = 2, timed_runs = 5;

/// What choices of this process are valid for. Loads cuBLASLt, as all that follows.
AlgorithmPlatform gemm_platform(Stream& stream);
/// "cuBLASLt 13.1.0, cuDNN 9.16.0, NVRTC 13.0.0": what else than the code decides the bits of a step; NVRTC compiles
/// cuDNN's attention. Loads all; cuDNN and NVRTC are "none" where they are not found.
std::string library_versions(Stream& stream);

/// The products that the library multiplies for a GEMM: the GEMM itself, or, where its scales are applied apart, the
/// parts without scales.
std::vector<Gemm> library_products(Stream& stream, const Gemm& args);
/// All that the choice of an algorithm may depend on: dtypes, layout, extents, scales and alignments. Of such a
/// product.
std::string gemm_problem(const Gemm& product);

/// The fastest algorithm of each product. It is timed on operands made for it, with the product's alignments and with
/// values that are distributed as in a run, since the power that a GPU draws, and so its clock, depends on them; the
/// product's own pointers are not followed. Waits for the stream.
AlgorithmChoices time_gemms(Stream& stream, std::span<const Gemm> products);

/// Puts choices in force, in place of all earlier ones: a product that is not among them takes the library's first
/// proposal. To be called before the first step. Those of another platform are an internal error at the first GEMM.
void use_gemm_choices(const AlgorithmChoices& choices);

}  // namespace octet
