#include "kernels/embedding.h"

#include <omp.h>

#include <cstring>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/parts/blocks.h"

namespace octet::cpu {
namespace {

constexpr std::int64_t column_block = 16;  // one cache line of d_table

/// The row of a token in the part of the table that begins with id `begin`, or -1.
std::int64_t row_of(std::int32_t token, std::int64_t begin, std::int64_t vocab) {
  const std::int64_t row = token - begin;
  return row >= 0 && row < vocab ? row : -1;
}

template <typename T>
void add_row(const T* x, float* y, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] += static_cast<float>(x[i]);
}

/// Each thread owns a range of columns and goes through all tokens in their order, so that no two threads write to one
/// element and every element is summed in the same order.
template <typename T>
void backward(const EmbeddingBackward& args) {
  const T* d_out = static_cast<const T*>(args.d_out);
  const std::int64_t dim = args.dim, blocks = ceil_div(dim, column_block);
#pragma omp parallel
  {
    const std::int64_t thread = omp_get_thread_num(), threads = omp_get_num_threads();
    const std::int64_t begin = blocks * thread / threads * column_block;
    const std::int64_t end = std::min(dim, blocks * (thread + 1) / threads * column_block);
    for (std::int64_t i = 0; i < args.n && begin < end; ++i) {
      const std::int64_t row = row_of(args.tokens[i], args.vocab_begin, args.vocab);
      if (row >= 0) add_row(d_out + i * dim + begin, args.d_table + row * dim + begin, end - begin);
    }
  }
}

}  // namespace

void embedding_forward(Stream&, const EmbeddingForward& args) {
  const std::int64_t bytes = args.dim * size_of(args.dtype);
  const char* table = static_cast<const char*>(args.table);
  char* out = static_cast<char*>(args.out);
  for_blocks(args.n, 1, [&](std::int64_t i, std::int64_t) {
    const std::int64_t row = row_of(args.tokens[i], args.vocab_begin, args.vocab);
    if (row >= 0) {
      std::memcpy(out + i * bytes, table + row * bytes, static_cast<std::size_t>(bytes));
    } else {
      std::memset(out + i * bytes, 0, static_cast<std::size_t>(bytes));
    }
  });
}

std::int64_t embedding_backward_workspace(const EmbeddingBackward&) {
  return 0;
}

void embedding_backward(Stream&, const EmbeddingBackward& args) {
  if (!args.accumulate) {
    for_blocks(args.vocab * args.dim, block_elements, [&](std::int64_t begin, std::int64_t end) {
      std::fill(args.d_table + begin, args.d_table + end, 0.0f);
    });
  }
  dispatch_storage(args.dtype, [&]<typename T>(T) { backward<T>(args); });
}

}  // namespace octet::cpu
