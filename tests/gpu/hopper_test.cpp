// cuBLASLt's fp8 sums against the CPU's emulation of them, bit by bit: the share that agrees is printed, a line a case
// and one for fast accumulation on and off, which jobs/gpu/check.sh shows and which its report (kernels-*.json) holds.
// Of the GPU for which the rule was written (kernels/cpu/gemm/hopper_multiply.h) all should agree; another generation,
// a split of k or a changed library shows here.
#include <fmt/format.h>

#include <bit>
#include <iostream>

#include "kernels/cuda_settings.h"
#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

struct HopperCase {
  std::int64_t m, n, k;
  DType a, b;
  bool all_codes;  ///< every finite code as likely as any other; else normal values
};

constexpr HopperCase hopper_cases[] = {
    {128, 256, 128, DType::e4m3, DType::e4m3, false},  {512, 512, 512, DType::e4m3, DType::e4m3, false},
    {512, 512, 4096, DType::e4m3, DType::e4m3, false}, {512, 512, 4096, DType::e4m3, DType::e4m3, true},
    {512, 768, 2064, DType::e5m2, DType::e4m3, false}, {256, 512, 2048, DType::e5m2, DType::e4m3, true},
    {256, 512, 1040, DType::e4m3, DType::e5m2, true},  {48, 80, 16384, DType::e4m3, DType::e4m3, false},
};

/// Finite codes.
std::vector<std::uint8_t> codes(std::int64_t count, DType format, bool all, unsigned seed) {
  std::vector<std::uint8_t> x;
  x.reserve(static_cast<std::size_t>(count));
  if (!all) {
    if (format == DType::e4m3) {
      for (const e4m3 v : normal<e4m3>(count, seed, 20.0)) x.push_back(v.bits);
    } else {
      for (const e5m2 v : normal<e5m2>(count, seed, 20.0)) x.push_back(v.bits);
    }
    return x;
  }
  std::mt19937 generator(seed);
  std::uniform_int_distribution<unsigned> magnitude(0, format == DType::e4m3 ? 0x7E : 0x7B), sign(0, 1);
  for (std::int64_t i = 0; i < count; ++i) {
    x.push_back(static_cast<std::uint8_t>(magnitude(generator) | sign(generator) << 7));
  }
  return x;
}

/// How many elements have the same bits.
struct Agreement {
  std::int64_t equal = 0, all = 0;

  void add(const Agreement& other) {
    equal += other.equal;
    all += other.all;
  }
  std::string text() const {
    return fmt::format("{} of {} have the emulation's bits ({:.4f} %)", equal, all,
                       100.0 * static_cast<double>(equal) / static_cast<double>(all));
  }
};

Agreement agreement_of(const std::vector<float>& x, const std::vector<float>& y) {
  Agreement same{.equal = 0, .all = static_cast<std::int64_t>(x.size())};
  for (std::size_t i = 0; i < x.size(); ++i) {
    same.equal += std::bit_cast<std::uint32_t>(x[i]) == std::bit_cast<std::uint32_t>(y[i]) ? 1 : 0;
  }
  return same;
}

class GpuHopperSums : public GpuTest {
 protected:
  void TearDown() override { set_cuda_settings({}); }

  static void run(const KernelTable& kernels, Stream& stream, Gemm args) {
    args.workspace_bytes = kernels.gemm_workspace(args);
    Buffer workspace(stream.device(), std::max<std::int64_t>(args.workspace_bytes, 1), Purpose::workspace);
    args.workspace = workspace.data();
    kernels.gemm(stream, args);
    stream.synchronize();
  }

  Agreement agreement(const HopperCase& of, bool fast) {
    Both<std::uint8_t> a(*gpu_stream, codes(of.m * of.k, of.a, of.all_codes, 1));
    Both<std::uint8_t> b(*gpu_stream, codes(of.n * of.k, of.b, of.all_codes, 2));
    Both<float> one(*gpu_stream, {1.0f}), c = Both<float>::output(*gpu_stream, of.m * of.n);
    const auto gemm = [&](const void* left, const void* right, const float* scale, float* result) {
      return Gemm{.a = {left, of.a, false, scale},
                  .b = {right, of.b, true, scale},
                  .c = result,
                  .m = of.m,
                  .n = of.n,
                  .k = of.k,
                  .fast_accumulate = fast,
                  .emulate_hopper = true};
    };
    run(gpu(), *gpu_stream, gemm(a.gpu(), b.gpu(), one.gpu(), c.gpu()));
    run(cpu, *cpu_stream, gemm(a.cpu(), b.cpu(), one.cpu(), c.cpu()));
    const std::vector<float> got = c.download();
    const Agreement same = agreement_of(got, c.host());
    const double apart = distance(got, c.host());
    std::cout << fmt::format("  m {} n {} k {}, {} x {}, {}, {}: {}, relative distance {:.1e}\n", of.m, of.n, of.k,
                             name_of(of.a), name_of(of.b), of.all_codes ? "all codes" : "normal values",
                             fast ? "fast" : "promoted", same.text(), apart);
    // Either side may be as far from the exact sum as 13 fraction bits leave it, up to 3e-3 in chains of 16384 and
    // 1.3e-4 in those of 128, so they are no further from each other than twice that.
    EXPECT_LE(apart, fast ? 6e-3 : 2.6e-4);
    return same;
  }

  void report(bool fast) {
    CudaSettings settings;
    for (const bool deterministic : {false, true}) {  // what is not deterministic may split k
      settings.deterministic = deterministic;
      set_cuda_settings(settings);
      Agreement all;
      for (const HopperCase& of : hopper_cases) all.add(agreement(of, fast));
      std::cout << fmt::format("sums of fp8 products, {}{}: {}\n", fast ? "fast accumulation" : "promoted every 128",
                               deterministic ? ", deterministic" : "", all.text());
      RecordProperty(deterministic ? "as_emulated_deterministic" : "as_emulated", all.text());
    }
  }
};

TEST_F(GpuHopperSums, FastAccumulationAgainstTheEmulation) {
  report(true);
}

TEST_F(GpuHopperSums, PromotedAgainstTheEmulation) {
  report(false);
}

}  // namespace
}  // namespace octet::gpu_test
