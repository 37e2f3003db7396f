#include <array>

#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

/// Without heads there is no such tensor.
struct RopeCase {
  std::int64_t batch, seq, heads, kv_heads, head_dim;
  std::int64_t offset = 0;
};
/// Of the last two a block of tiles has several heads, of queries and of keys.
constexpr std::array<RopeCase, 13> rope_cases = {{{1, 1, 1, 1, 2},
                                                  {2, 7, 3, 1, 6},
                                                  {2, 5, 8, 2, 16},
                                                  {3, 33, 5, 5, 64},
                                                  {2, 130, 32, 8, 128},
                                                  {1, 9, 9, 3, 24},
                                                  {2, 5, 4, 4, 128, 1},
                                                  {1, 6, 2, 1, 32, 4},
                                                  {2, 7, 3, 0, 16},
                                                  {2, 7, 0, 3, 16},
                                                  {0, 4, 2, 2, 16, 1},
                                                  {1, 5712, 10, 4, 16},
                                                  {1, 5700, 10, 4, 12}}};

class GpuRope : public GpuTest {
 protected:
  /// The same operations without contraction: the same bits. `length`: tokens of each document; 0: a row is one.
  /// Queries are written in these forms, and keys as they are.
  template <typename T>
  void compare(const RopeCase& c, bool inverse, std::int64_t length = 0, Forms forms = Forms::none) {
    SCOPED_TRACE(
        fmt::format("{} x {} x {}:{} x {}, offset {}", c.batch, c.seq, c.heads, c.kv_heads, c.head_dim, c.offset));
    const std::int64_t of_head = c.batch * c.seq * c.head_dim, half = c.head_dim / 2;
    Both<T> q(*gpu_stream, normal<T>(of_head * c.heads + c.offset, 21));
    Both<T> k(*gpu_stream, normal<T>(of_head * c.kv_heads + c.offset, 22));
    std::vector<float> cos_values, sin_values;
    for (std::int64_t i = 0; i < c.seq * half; ++i) {
      cos_values.push_back(std::cos(static_cast<float>(i) * 0.7f));
      sin_values.push_back(std::sin(static_cast<float>(i) * 0.7f));
    }
    std::vector<std::int32_t> beginnings;
    for (std::int64_t i = 0; length > 0 && i < c.batch * c.seq; ++i) {
      beginnings.push_back(static_cast<std::int32_t>(i % c.seq / length * length));
    }
    Both<std::int32_t> begin(*gpu_stream, beginnings);
    Both<float> cos(*gpu_stream, cos_values), sin(*gpu_stream, sin_values);
    Both<float> amax(*gpu_stream, {0.5f, 100.0f});  // raised
    Both<std::uint32_t> count(*gpu_stream, {2, 3});
    Both<std::uint8_t> codes(*gpu_stream,
                             std::vector<std::uint8_t>(static_cast<std::size_t>(of_head * c.heads + c.offset)));
    Both<std::uint8_t> turned(*gpu_stream, codes.host());
    Both<float> scale(*gpu_stream, {30.0f});
    const auto float8 = [&](std::uint8_t* y, std::uint8_t* transposed, const float* factor) -> Float8Out {
      if (forms == Forms::none) return {};
      return {.y = y + c.offset,
              .y_transposed = forms == Forms::transposed ? transposed + c.offset : nullptr,
              .format = DType::e5m2,
              .scale = factor};
    };
    const auto heads = [&](void* x, std::int64_t n, float* max, std::uint32_t* non_finite) -> RopeHeads {
      return {.x = n == 0 ? nullptr : x, .count = n, .stats = {max, non_finite}};
    };
    Rope args{.q = heads(q.cpu() + c.offset, c.heads, amax.cpu(), count.cpu()),
              .k = heads(k.cpu() + c.offset, c.kv_heads, amax.cpu() + 1, count.cpu() + 1),
              .dtype = dtype_of<T>::value,
              .batch = c.batch,
              .seq = c.seq,
              .head_dim = c.head_dim,
              .cos = cos.cpu(),
              .sin = sin.cpu(),
              .inverse = inverse,
              .document_begin = length > 0 ? begin.cpu() : nullptr};
    args.q.float8 = float8(codes.cpu(), turned.cpu(), scale.cpu());
    cpu.rope(*cpu_stream, args);
    args.q = heads(q.gpu() + c.offset, c.heads, amax.gpu(), count.gpu());
    args.k = heads(k.gpu() + c.offset, c.kv_heads, amax.gpu() + 1, count.gpu() + 1);
    args.q.float8 = float8(codes.gpu(), turned.gpu(), scale.gpu());
    args.cos = cos.gpu(), args.sin = sin.gpu();
    if (length > 0) args.document_begin = begin.gpu();
    gpu().rope(*gpu_stream, args);
    expect_same_bits(q, "q");
    expect_same_bits(k, "k");
    expect_same_bits(codes, "float8 of q");
    expect_same_bits(turned, "float8 of q, transposed");
    expect_same_bits(amax, "amax");
    expect_same_bits(count, "non-finite");
  }
};

TEST_F(GpuRope, SameBitsAsTheCpu) {
  for (const RopeCase& c : rope_cases) {
    for (const bool inverse : {false, true}) {
      compare<float>(c, inverse);
      compare<bf16>(c, inverse);
      compare<bf16>(c, inverse, 3);
      for (const Forms forms : {Forms::plain, Forms::transposed}) {
        compare<float>(c, inverse, 0, forms);
        compare<bf16>(c, inverse, 0, forms);
      }
      compare<bf16>(c, inverse, 3, Forms::transposed);
    }
  }
}

}  // namespace
}  // namespace octet::gpu_test
