#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

class GpuFillNormal : public GpuTest {};

TEST_F(GpuFillNormal, SameBitsAsTheCpu) {
  for (const std::int64_t n : {0, 1, 1000, 3'000'000}) {
    for (const double cutoff : {3.0, 8.0}) {  // a cutoff of 8 reaches the tails
      SCOPED_TRACE(fmt::format("{} values, cutoff {}", n, cutoff));
      auto x = Both<float>::output(*gpu_stream, n);
      FillNormal args{.x = x.cpu(),
                      .n = n,
                      .columns = 96,
                      .first_row = 1000,
                      .first_column = 32,
                      .row_elements = 4096,
                      .key = {.seed = 0x9E3779B97F4A7C15, .purpose = RandomPurpose::initial_weights, .stream = 5},
                      .std = 0.02,
                      .below = below_cutoff(cutoff)};
      cpu.fill_normal(*cpu_stream, args);
      args.x = x.gpu();
      gpu().fill_normal(*gpu_stream, args);
      expect_same_bits(x, "x");
    }
  }
}

}  // namespace
}  // namespace octet::gpu_test
