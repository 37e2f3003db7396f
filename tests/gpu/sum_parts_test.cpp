#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

class GpuSumParts : public GpuTest {
 protected:
  /// The sums are in the order of the CPU's. `offset`: of parts and out, in elements.
  template <typename In, typename Out>
  void compare(int count, std::int64_t n, std::int64_t offset, bool accumulate) {
    SCOPED_TRACE(fmt::format("{} parts of {}, offset {}, accumulate {}", count, n, offset, accumulate));
    Both<In> parts(*gpu_stream, normal<In>(count * n + offset, 1));
    Both<Out> out =
        accumulate ? Both<Out>(*gpu_stream, normal<Out>(n + offset, 2)) : Both<Out>::output(*gpu_stream, n + offset);
    SumParts args{.parts = parts.cpu() + offset,
                  .dtype = dtype_of<In>::value,
                  .count = count,
                  .n = n,
                  .out = out.cpu() + offset,
                  .out_dtype = dtype_of<Out>::value,
                  .accumulate = accumulate};
    cpu.sum_parts(*cpu_stream, args);
    args.parts = parts.gpu() + offset;
    args.out = out.gpu() + offset;
    gpu().sum_parts(*gpu_stream, args);
    expect_same_bits(out, "out");
  }
};

TEST_F(GpuSumParts, SameBitsAsTheCpu) {
  for (const std::int64_t n : {0, 1, 5, 1000, 4096, 300001, 1100000}) {
    for (const int count : {1, 2, 7, 8}) {
      for (const std::int64_t offset : {0, 1}) {
        for (const bool accumulate : {false, true}) {
          compare<float, float>(count, n, offset, accumulate);
          compare<bf16, float>(count, n, offset, accumulate);
        }
        compare<float, bf16>(count, n, offset, false);
        compare<bf16, bf16>(count, n, offset, false);
      }
    }
  }
}

}  // namespace
}  // namespace octet::gpu_test
