#pragma once

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

namespace octet::cuda_test {

/// A product as cuBLASLt meets it: the words of its descriptors, and for a launch the addresses.
struct Product {
  std::uint64_t compute_type = 0, scale_type = 0, transposed_a = 0, transposed_b = 0, fast_accumulate = 0;
  std::uint64_t scale_mode_a = 0, scale_mode_b = 0, scale_a = 0, scale_b = 0;
  struct Matrix {
    std::uint64_t type = 0, rows = 0, columns = 0, leading = 0;
    bool operator==(const Matrix&) const = default;
  } a, b, c, d;
  struct Addresses {
    std::uint64_t a = 0, b = 0, c = 0, d = 0, workspace = 0;
  };
};

namespace rules {

inline bool is_float8(std::uint64_t type) {
  return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

/// "To use FP8 kernels, the following set of requirements must be satisfied" and the table of types under it:
/// https://docs.nvidia.com/cuda/cublas/#cublasltmatmul
inline std::string float8(const Product& p) {
  if (!is_float8(p.a.type) || !is_float8(p.b.type)) return "fp8 goes with fp8";
  if (p.a.type == CUDA_R_8F_E5M2 && p.b.type == CUDA_R_8F_E5M2) return "e5m2 by e5m2";
  if (p.transposed_a != CUBLAS_OP_T || p.transposed_b != CUBLAS_OP_N) return "fp8 wants a transposed and b not";
  if (p.d.type != CUDA_R_16BF && p.d.type != CUDA_R_32F) return "the type of an fp8 product";
  for (const Product::Matrix* m : {&p.a, &p.b}) {
    if (m->leading % 16 != 0) return "fp8 wants rows of 16 bytes";
  }
  // "All matrix dimensions must meet the optimal requirements listed in Tensor Core Usage": the number of rows of the
  // result, and with it that of a's columns, in 16 bytes of a type of one byte.
  if (p.a.columns % 16 != 0 || p.b.columns % 16 != 0) return "fp8 wants dimensions of 16";
  return "";
}

/// cublasLtMatmulDescSetAttribute, asked without a GPU: 12.6.4 answers CUBLAS_STATUS_INVALID_VALUE to the modes of
/// scales, as to any attribute that it does not know; 12.8.4, 12.9.1 and 13.1.0 take them, and whatever value they are
/// given. So which modes there are shows at the heuristic alone.
inline bool has_attribute(cublasLtMatmulDescAttributes_t attribute, std::uint64_t version) {
  return version >= 120800 ||
         (attribute != CUBLASLT_MATMUL_DESC_A_SCALE_MODE && attribute != CUBLASLT_MATMUL_DESC_B_SCALE_MODE);
}

/// The bytes of an attribute: the setters answer CUBLAS_STATUS_INVALID_VALUE to any other size, also to a larger one
/// (13.1.0, asked without a GPU). Of the attributes that Octet sets; the comments of cublasLt.h have their types.
inline std::size_t bytes_of(cublasLtMatmulDescAttributes_t attribute) {
  if (attribute == CUBLASLT_MATMUL_DESC_FAST_ACCUM) return 1;
  const bool is_pointer =
      attribute == CUBLASLT_MATMUL_DESC_A_SCALE_POINTER || attribute == CUBLASLT_MATMUL_DESC_B_SCALE_POINTER;
  return is_pointer ? 8 : 4;
}
inline std::size_t bytes_of(cublasLtMatmulPreferenceAttributes_t attribute) {
  return attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES ? 8 : 4;
}

inline bool along_contraction(std::uint64_t mode) {
  return mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F || mode == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
}

/// "128-element 1D and 128x128 2D Block Scaling For FP8 Data Types", https://docs.nvidia.com/cuda/cublas/: the table of
/// combinations, the types of D, "M and N must be multiples of 4", Hopper alone, since 12.9.0 (also NVIDIA/
/// CUDALibrarySamples issue 310). K in whole blocks and no fast accumulation are what TransformerEngine asks
/// (float8_block_scaling in its documentation, use_split_accumulator of its recipe Float8BlockScaling): the library's
/// pages leave them open, so that nobody relies on them.
inline std::string block_scales(const Product& p, std::uint64_t version, bool hopper) {
  if (!along_contraction(p.scale_mode_a) || !along_contraction(p.scale_mode_b)) return "block scales with others";
  if (p.scale_mode_a == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F && p.scale_mode_b == p.scale_mode_a) {
    return "blocks by blocks";
  }
  if (!is_float8(p.a.type)) return "block scales are for fp8 alone";
  if (p.d.type != CUDA_R_16BF && p.d.type != CUDA_R_32F) return "the type of a product with block scales";
  if (p.a.columns % 4 != 0 || p.b.columns % 4 != 0) return "block scales want m and n in fours";
  if (p.a.rows % 128 != 0) return "block scales want k in whole blocks";
  if (p.fast_accumulate != 0) return "block scales with fast accumulation";
  if (version < 120900) return "block scales are of cuBLASLt 12.9";
  return hopper ? "" : "block scales are of Hopper alone";
}

/// What the modes ask of each other, of the library and of the GPU. "To enable outer vector scaling", both operands'
/// modes are set (https://docs.nvidia.com/cuda/cublas/, "Outer Vector Scaling for FP8 Data Types"); cublasLt.h has that
/// mode since 12.9.0, and Hopper alone (NVIDIA/CUDALibrarySamples issue 270: elsewhere the heuristic has no algorithm,
/// pytorch/pytorch issue 192707).
inline std::string scale_modes(const Product& p, std::uint64_t version, bool hopper) {
  if (along_contraction(p.scale_mode_a) || along_contraction(p.scale_mode_b)) return block_scales(p, version, hopper);
  if (p.scale_mode_a != p.scale_mode_b) return "outer-vector scales are for both operands or none";
  if (p.scale_mode_a == CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F) return "";
  if (p.scale_mode_a != CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F) {
    return "a scale mode that Hopper does not have here";
  }
  if (version < 120900) return "outer-vector scales are of cuBLASLt 12.9";
  return hopper ? "" : "outer-vector scales are of Hopper alone";
}

/// The comments of cublasLtMatmulMatrixScale_t in cublasLt.h. Pointers: as an H100 showed (kernels/scale_layout.h).
inline std::string scales(const Product& p) {
  const bool any = p.scale_a != 0 || p.scale_b != 0;
  if (any && !is_float8(p.a.type)) return "scales are for fp8 alone";
  if (along_contraction(p.scale_mode_a) || along_contraction(p.scale_mode_b)) {
    if (p.scale_a % 16 != 0 || p.scale_b % 16 != 0) return "a scale off 16 bytes";
    return p.scale_a == 0 || p.scale_b == 0 ? "block scales want both operands' scales" : "";
  }
  if (p.scale_mode_a != 0 && (p.scale_a == 0 || p.scale_b == 0)) return "outer-vector scales want both vectors";
  if (p.scale_a % 16 != 0 || p.scale_b % 16 != 0) return "a scale off 16 bytes";
  return "";
}

/// What descriptors alone tell.
inline std::string descriptors(const Product& p) {
  if (p.compute_type != CUBLAS_COMPUTE_32F || p.scale_type != CUDA_R_32F) return "another compute or scale type";
  for (const Product::Matrix* m : {&p.a, &p.b, &p.c, &p.d}) {
    if (m->leading < m->rows) return "a leading dimension that is shorter than a column";
  }
  if (is_float8(p.a.type) || is_float8(p.b.type)) return float8(p);
  if (p.a.type != p.b.type) return "operands of two types";
  if (p.fast_accumulate != 0) return "fast accumulation is for fp8 alone";
  return "";
}

/// A heuristic is told of less than what `addresses` asks of them: it has no fp8 algorithm then. `least`: of a, b, c
/// and d, 0 where nothing was said, which means 256.
inline std::string alignments(const Product& p, const std::array<std::uint64_t, 4>& least) {
  if (!is_float8(p.a.type)) return "";
  const bool too_little = std::ranges::any_of(least, [](std::uint64_t bytes) { return bytes != 0 && bytes < 16; });
  return too_little ? "an fp8 product whose matrices may lie off 16 bytes" : "";
}

/// "All matrix pointers must be 16-byte aligned" for fp8; of the workspace: "Must be 256B aligned"; of C and D in one
/// place: "Cdesc == Ddesc" (the same page).
inline std::string addresses(const Product& p, const Product::Addresses& at) {
  if (at.workspace % 256 != 0) return "a workspace off 256 bytes";
  if (at.c == at.d && p.c != p.d) return "in place with two layouts";
  if (!is_float8(p.a.type)) return "";
  for (const std::uint64_t address : {at.a, at.b, at.c, at.d}) {
    if (address % 16 != 0) return "an fp8 product's matrix off 16 bytes";
  }
  return "";
}

}  // namespace rules

/// The rule of cuBLASLt that a launch breaks, or "".
inline std::string broken_rule(const Product& p, const Product::Addresses& at, std::uint64_t version, bool hopper) {
  std::string broken = rules::descriptors(p);
  if (broken.empty()) broken = rules::scale_modes(p, version, hopper);
  if (broken.empty()) broken = rules::scales(p);
  return broken.empty() ? rules::addresses(p, at) : broken;
}

}  // namespace octet::cuda_test
