#include "src/comm/mpi/host_reductions.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "src/base/error.h"
#include "src/base/round_up.h"
#include "src/comm/mpi/mpi_handles.h"
#include "src/comm/rank_order.h"

namespace octet {
namespace {

constexpr std::int64_t block = 1024;             // elements; the accumulator stays in the first-level cache
constexpr std::int64_t parallel_from = 1 << 17;  // elements; below, waking the threads costs more than the sum

void sum_block(std::span<const float* const> from, float* out, std::int64_t begin, std::int64_t n) {
  std::array<float, block> sum;  // of our own, so that `out` may be one of the inputs
  std::copy_n(from[0] + begin, n, sum.begin());
  for (const float* other : from.subspan(1)) {
    const float* x = other + begin;
    for (std::int64_t i = 0; i < n; ++i) sum[static_cast<std::size_t>(i)] += x[i];
  }
  std::copy_n(sum.begin(), n, out + begin);
}

}  // namespace

void sum_in_rank_order(std::span<const float* const> from, float* out, std::int64_t count) {
  const std::int64_t blocks = ceil_div(count, block);
#pragma omp parallel for schedule(static) if (count >= parallel_from)
  for (std::int64_t b = 0; b < blocks; ++b) {
    sum_block(from, out, b * block, std::min(block, count - b * block));
  }
}

namespace {

/// The same bits for (a, b) as for (b, a): also of two NaNs, and of zeros of different signs.
float larger(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<float>::quiet_NaN();
  if (a == b) return std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) & std::bit_cast<std::uint32_t>(b));
  return a > b ? a : b;
}

void max_of_floats(void* in, void* in_out, int* count, MPI_Datatype*) {
  const auto* const a = static_cast<const float*>(in);
  auto* const b = static_cast<float*>(in_out);
  for (int i = 0; i < *count; ++i) b[i] = larger(a[i], b[i]);
}

/// Made once; MPI_Finalize takes it.
MPI_Op max_op() {
  static const MPI_Op made = [] {
    MPI_Op op = MPI_OP_NULL;
    check_mpi(MPI_Op_create(max_of_floats, 1, &op), "MPI_Op_create");
    return op;
  }();
  return made;
}

}  // namespace

ExactReduction exact_reduction(DType dtype, ReduceOp op) {
  if (!is_exact(dtype, op)) throw internal_error("comm", "sums of {} depend on their order", name_of(dtype));
  if (dtype == DType::f32) return {MPI_FLOAT, max_op()};
  if (op == ReduceOp::max) return {MPI_INT32_T, MPI_MAX};
  return {MPI_UINT32_T, MPI_SUM};
}

}  // namespace octet
