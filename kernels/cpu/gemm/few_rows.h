#pragma once

#include "kernels/gemm.h"

namespace octet::cpu {

/// Whether few_rows_gemm takes the product: a few rows of A against a weight as it is stored, for one or some tokens
/// that are generated. Its time is that of reading the weight, which oneDNN's kernels, made for many rows, and widened
/// copies of 16- and 8-bit weights are far from.
bool is_few_rows(const Gemm& args);
/// Whether it would take the product if that had few rows.
bool could_be_few_rows(const Gemm& args);

/// C = A · Bᵀ, read once as stored, each product and sum in fp32. The order of a sum depends on k and the processor's
/// vectors alone. Rows of A that are not fp32 it takes so in the workspace: few_rows_workspace bytes, which of more
/// rows than it takes are those of the most.
void few_rows_gemm(const Gemm& args);
std::int64_t few_rows_workspace(const Gemm& args);

}  // namespace octet::cpu
