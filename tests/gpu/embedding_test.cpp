#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

struct EmbeddingCase {
  std::int64_t n, vocab, dim;
  std::int64_t offset = 0;    ///< of table, out and d_out, in elements
  std::int64_t distinct = 0;  ///< tokens come from the last so many of the vocabulary; 0: from all
  std::int64_t begin = 0;     ///< the table's first id; tokens come from both sides of its vocabulary too
};

/// One and two digits of the sort, several chunks, tokens that repeat never, often, and in all places.
const EmbeddingCase embedding_cases[] = {{1, 1, 8},
                                         {31, 5, 64},
                                         {300, 256, 40},
                                         {5000, 256, 16},
                                         {2049, 512, 8},
                                         {4096, 513, 8},
                                         {6000, 128256, 24},
                                         {17000, 300, 4},
                                         {64, 1, 8},
                                         {2500, 7, 256, 1},
                                         {777, 50304, 5},
                                         {100, 3, 1},
                                         {4100, 128256, 64, 0, 1},
                                         {0, 300, 16},
                                         {3000, 300, 264, 0, 2},
                                         {9, 300000, 8},
                                         {2048, 100000, 520},
                                         {3000, 300, 24, 0, 0, 200},
                                         {3000, 512, 24, 0, 0, 512},
                                         {3000, 64128, 40, 1, 0, 64128},
                                         {3000, 64128, 40, 0, 0, 1},
                                         {500, 1, 8, 0, 0, 3}};

std::vector<std::int32_t> random_tokens(const EmbeddingCase& c) {
  std::mt19937 generator(11);
  const std::int64_t first = c.distinct == 0 ? 0 : c.vocab - c.distinct;
  const std::int64_t last = c.begin == 0 ? c.vocab - 1 : 2 * c.begin + c.vocab;
  std::uniform_int_distribution<std::int32_t> distribution(static_cast<std::int32_t>(first),
                                                           static_cast<std::int32_t>(last));
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(c.n));
  for (std::int32_t& t : tokens) t = distribution(generator);
  return tokens;
}

class GpuEmbedding : public GpuTest {
 protected:
  template <typename T>
  void forward(const EmbeddingCase& c) {
    Both<std::int32_t> tokens(*gpu_stream, random_tokens(c));
    Both<T> table(*gpu_stream, normal<T>(c.vocab * c.dim + c.offset, 1));
    auto out = Both<T>::output(*gpu_stream, c.n * c.dim + c.offset);
    EmbeddingForward args{.tokens = tokens.cpu(),
                          .table = table.cpu() + c.offset,
                          .out = out.cpu() + c.offset,
                          .dtype = dtype_of<T>::value,
                          .n = c.n,
                          .vocab = c.vocab,
                          .dim = c.dim,
                          .vocab_begin = c.begin};
    cpu.embedding_forward(*cpu_stream, args);
    args.tokens = tokens.gpu();
    args.table = table.gpu() + c.offset;
    args.out = out.gpu() + c.offset;
    gpu().embedding_forward(*gpu_stream, args);
    expect_same_bits(out, "out");
  }

  /// The sums are in the order of the CPU's.
  template <typename T>
  void backward(const EmbeddingCase& c, bool accumulate) {
    Both<std::int32_t> tokens(*gpu_stream, random_tokens(c));
    Both<T> d_out(*gpu_stream, normal<T>(c.n * c.dim + c.offset, 1));
    Both<float> d_table = accumulate ? Both<float>(*gpu_stream, normal<float>(c.vocab * c.dim, 2))
                                     : Both<float>::output(*gpu_stream, c.vocab * c.dim);
    EmbeddingBackward args{.tokens = tokens.cpu(),
                           .d_out = d_out.cpu() + c.offset,
                           .dtype = dtype_of<T>::value,
                           .d_table = d_table.cpu(),
                           .accumulate = accumulate,
                           .n = c.n,
                           .vocab = c.vocab,
                           .dim = c.dim,
                           .vocab_begin = c.begin};
    ASSERT_EQ(cpu.embedding_backward_workspace(args), 0);
    cpu.embedding_backward(*cpu_stream, args);
    args.tokens = tokens.gpu();
    args.d_out = d_out.gpu() + c.offset;
    args.d_table = d_table.gpu();
    const auto bytes = static_cast<std::size_t>(gpu().embedding_backward_workspace(args));
    Both<unsigned char> space(*gpu_stream, std::vector<unsigned char>(bytes));  // zero: a place that there is
    args.workspace = space.gpu();
    gpu().embedding_backward(*gpu_stream, args);
    expect_same_bits(d_table, "d_table");
    space.download();  // its guards
  }
};

TEST_F(GpuEmbedding, ForwardCopiesRows) {
  for (const EmbeddingCase& c : embedding_cases) {
    SCOPED_TRACE(fmt::format("{} tokens of {} from {}, dim {}, offset {}", c.n, c.vocab, c.begin, c.dim, c.offset));
    forward<float>(c);
    forward<bf16>(c);
  }
}

TEST_F(GpuEmbedding, BackwardHasTheBitsOfTheOrderedSum) {
  for (const EmbeddingCase& c : embedding_cases) {
    SCOPED_TRACE(fmt::format("{} tokens of {} from {}, dim {}, offset {}", c.n, c.vocab, c.begin, c.dim, c.offset));
    for (const bool accumulate : {false, true}) {
      backward<float>(c, accumulate);
      backward<bf16>(c, accumulate);
    }
  }
}

}  // namespace
}  // namespace octet::gpu_test
