#pragma once

#include "tests/cuda/cublas_lt_rules.h"

namespace octet::emulated {

/// D = alpha · A · B + beta · C with cuBLASLt's layouts (column-major), types and scales; sums in fp32. `p`: a product
/// that breaks no rule. The device's memory is the host's.
void multiply(const cuda_test::Product& p, const cuda_test::Product::Addresses& at, float alpha, float beta);

}  // namespace octet::emulated
