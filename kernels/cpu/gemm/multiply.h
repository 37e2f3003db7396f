#pragma once

#include <cstdint>

#include "src/base/dtype.h"

namespace octet::cpu {

/// A row-major matrix of the GEMM's input type; `stride` elements from row to row as stored.
struct MultiplyOperand {
  const void* data = nullptr;
  std::int64_t stride = 0;
  bool transposed = false;
};

/// C[m, n] = scale · A[m, k] · B[k, n] + beta · C, beta 0 or 1, by oneDNN on all threads (but for OneThreadProducts).
/// `input` f32 (C f32 and scale 1: oneDNN's sgemm may multiply an operand by the scale instead of the sum) or bf16 (C
/// f32 or bf16). No extent is zero.
struct Multiply {
  DType input = DType::f32;
  MultiplyOperand a, b;
  void* c = nullptr;
  std::int64_t c_stride = 0;
  DType c_dtype = DType::f32;
  std::int64_t m = 0, n = 0, k = 0;
  float beta = 0.0f;
  float scale = 1.0f;
};

void multiply(const Multiply& args);

/// While it lives, the products of this thread of a parallel region are computed by it alone.
class OneThreadProducts {
 public:
  OneThreadProducts();
  ~OneThreadProducts();
  OneThreadProducts(const OneThreadProducts&) = delete;
  OneThreadProducts& operator=(const OneThreadProducts&) = delete;

 private:
  int threads_;
};

/// The general way, by a cached matmul primitive; multiply() takes it for bf16. Apart so that tests reach it with f32
/// on processors without bf16.
void multiply_by_primitive(const Multiply& args);

}  // namespace octet::cpu
