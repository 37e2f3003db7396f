// The CPU's GEMM and attention refuse the addresses that cuBLASLt and cuDNN refuse: what runs here must run there.
#include "kernels/attention.h"
#include "kernels/gemm.h"
#include "src/base/error.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/error_of.h"

namespace octet {
namespace {

using namespace test;

struct Product {
  std::shared_ptr<void> memory = make_workspace(4096);
  Gemm args;

  Product() {
    auto* at = static_cast<std::byte*>(memory.get());
    std::fill(at, at + 4096, std::byte{0});
    auto* scales = reinterpret_cast<float*>(at + 2048);
    args = {.a = {.data = at, .dtype = DType::e4m3, .transposed = false, .inverse_scale = scales},
            .b = {.data = at + 256, .dtype = DType::e4m3, .transposed = true, .inverse_scale = scales + 4},
            .c = at + 512,
            .m = 16,
            .n = 16,
            .k = 16};
  }

  std::string refusal() {
    args.workspace_bytes = cpu::gemm_workspace(args);
    const auto workspace = make_workspace(args.workspace_bytes);
    args.workspace = workspace.get();
    return test::error_or_none([&] { cpu::gemm(stream(), args); }, ExitCode::internal);
  }
};

TEST(GemmAddresses, ScalesOff16Bytes) {
  for (const int offset : {0, 4, 8}) {
    Product p;
    p.args.a.inverse_scale += offset;
    EXPECT_EQ(p.refusal(), "") << offset;
  }
  for (const int offset : {1, 2, 3, 5}) {
    Product p;
    p.args.b.inverse_scale += offset;
    EXPECT_NE(p.refusal().find("gemm of m 16 n 16 k 16, e4m3 x e4m3' > f32: b's inverse scale must lie on 16 bytes"),
              std::string::npos)
        << p.refusal();
    EXPECT_NE(p.refusal().find(fmt::format("{} bytes behind", 4 * offset % 16)), std::string::npos);
  }
}

TEST(GemmAddresses, MatricesOff16BytesInFloat8Alone) {
  Product p;
  p.args.a.data = static_cast<const std::byte*>(p.args.a.data) + 8;
  EXPECT_NE(p.refusal().find("a must lie on 16 bytes"), std::string::npos);
  p.args.a = {.data = p.args.a.data, .dtype = DType::bf16, .transposed = false};
  p.args.b = {.data = p.args.b.data, .dtype = DType::bf16, .transposed = true};
  p.args.c = static_cast<std::byte*>(p.args.c) + 1028;
  EXPECT_EQ(p.refusal(), "");
}

TEST(AttentionAddresses, Off16Bytes) {
  const auto memory = make_workspace(4096);
  const auto at = [&](std::int64_t i) { return static_cast<float*>(memory.get()) + 64 * i; };
  const AttentionShape shape{.batch = 1, .seq = 1, .heads = 1, .kv_heads = 1, .head_dim = 8, .dtype = DType::f32};
  std::fill(at(0), at(16), 1.0f);
  const auto refusal = [](auto&& run) -> std::string { return test::error_or_none(run, ExitCode::internal); };
  AttentionForward forward{shape, at(0), at(1), at(2), at(3), at(4), nullptr};
  const auto workspace = make_workspace(cpu::attention_forward_workspace(forward));
  forward.workspace = workspace.get();
  EXPECT_EQ(refusal([&] { cpu::attention_forward(stream(), forward); }), "");
  forward.k = at(1) + 2;
  EXPECT_NE(refusal([&] { cpu::attention_forward(stream(), forward); }).find("attention: k must lie on 16 bytes"),
            std::string::npos);
  AttentionBackward backward{shape, at(0), at(1), at(2), at(3), at(5), at(4), at(6), at(7), at(8) + 1, nullptr};
  EXPECT_NE(
      refusal([&] { cpu::attention_backward(stream(), backward); }).find("attention backward: dv must lie on 16 bytes"),
      std::string::npos);
}

}  // namespace
}  // namespace octet
