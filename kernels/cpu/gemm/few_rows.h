#pragma once

#include "kernels/gemm.h"

namespace octet::cpu {

/// Whether few_rows_gemm takes the product: a few rows of A times a weight as it is stored, as when one or some tokens
/// are generated. It takes about as long as reading the weight. oneDNN's kernels, which are made for many rows, and
/// widened copies of 16- and 8-bit weights take far longer.
bool is_few_rows(const Gemm& args);
/// Whether it would take the product if that had few rows.
bool could_be_few_rows(const Gemm& args);

/// C = A · Bᵀ. B is read once, as it is stored; each product and sum is fp32. The order of a sum depends on k and the
/// processor's vectors alone. Rows of A that are not fp32 are converted in the workspace (few_rows_workspace bytes; for
/// a product of more rows than it takes, the bytes of the most).
void few_rows_gemm(const Gemm& args);
std::int64_t few_rows_workspace(const Gemm& args);

}  // namespace octet::cpu
