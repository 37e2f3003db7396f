#include <array>

#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

struct Case {
  std::int64_t batch, seq, heads, head_dim;
  std::int64_t offset = 0;
};
constexpr std::array<Case, 9> cases = {{{1, 1, 1, 2},
                                        {2, 7, 3, 6},
                                        {2, 5, 8, 16},
                                        {3, 33, 5, 64},
                                        {2, 130, 32, 128},
                                        {1, 9, 9, 24},
                                        {2, 5, 4, 128, 1},
                                        {1, 6, 2, 32, 4},
                                        {0, 4, 2, 16}}};

class GpuRope : public GpuTest {
 protected:
  /// The same operations without contraction: the same bits.
  template <typename T>
  void compare(const Case& c, bool inverse) {
    SCOPED_TRACE(fmt::format("{} x {} x {} x {}, offset {}", c.batch, c.seq, c.heads, c.head_dim, c.offset));
    const std::int64_t n = c.batch * c.seq * c.heads * c.head_dim, half = c.head_dim / 2;
    Both<T> x(*gpu_stream, normal<T>(n + c.offset, 21));
    std::vector<float> cos_values, sin_values;
    for (std::int64_t i = 0; i < c.seq * half; ++i) {
      cos_values.push_back(std::cos(static_cast<float>(i) * 0.7f));
      sin_values.push_back(std::sin(static_cast<float>(i) * 0.7f));
    }
    Both<float> cos(*gpu_stream, cos_values), sin(*gpu_stream, sin_values);
    auto amax = Both<float>::output(*gpu_stream, 1);
    Both<std::uint32_t> count(*gpu_stream, {2});
    Rope args{.x = x.cpu() + c.offset,
              .dtype = dtype_of<T>::value,
              .batch = c.batch,
              .seq = c.seq,
              .heads = c.heads,
              .head_dim = c.head_dim,
              .cos = cos.cpu(),
              .sin = sin.cpu(),
              .inverse = inverse,
              .stats = {amax.cpu(), count.cpu()}};
    cpu.rope(*cpu_stream, args);
    args.x = x.gpu() + c.offset, args.cos = cos.gpu(), args.sin = sin.gpu(), args.stats = {amax.gpu(), count.gpu()};
    gpu().rope(*gpu_stream, args);
    expect_same_bits(x, "x");
    expect_same_bits(amax, "amax");
    expect_same_bits(count, "non-finite");
  }
};

TEST_F(GpuRope, SameBitsAsTheCpu) {
  for (const Case& c : cases) {
    for (const bool inverse : {false, true}) {
      compare<float>(c, inverse);
      compare<bf16>(c, inverse);
    }
  }
}

}  // namespace
}  // namespace octet::gpu_test
