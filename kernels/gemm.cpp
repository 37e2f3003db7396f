#include "kernels/gemm.h"

#include "kernels/addresses.h"

namespace octet {

std::string text_of(const Gemm& g) {
  const auto operand = [](const GemmOperand& x) {
    const std::string text = fmt::format("{}{}", name_of(x.dtype), x.transposed ? "'" : "");
    return along_contraction(x.scales) ? fmt::format("{} of {}", text, name_of(x.scales)) : text;
  };
  return fmt::format("gemm of m {} n {} k {}, {} x {} > {}", g.m, g.n, g.k, operand(g.a), operand(g.b),
                     name_of(g.c_dtype));
}

namespace {

void check_scales(const Gemm& g) {
  const auto require = [&](bool condition, const char* text) {
    if (!condition) throw internal_error("kernels", "{}: {}", text_of(g), text);
  };
  for (const GemmOperand* x : {&g.a, &g.b}) {
    require(x->scales == ScaleForm::tensor || is_float8(x->dtype), "scales are for fp8 operands");
  }
  if (!along_contraction(g.a.scales) && !along_contraction(g.b.scales)) return;
  require(along_contraction(g.a.scales) && along_contraction(g.b.scales),
          "scales of vectors or blocks go with scales of vectors or blocks");
  require(g.a.scales == ScaleForm::vectors || g.b.scales == ScaleForm::vectors,
          "scales of blocks on both sides are what no library multiplies");
  for (const GemmOperand* x : {&g.a, &g.b}) {  // in a dry pass nothing has an address
    require(x->inverse_scale != nullptr || x->data == nullptr, "an operand has no inverse scales");
  }
  require(!g.fast_accumulate, "with scales of vectors or blocks sums are promoted: no fast accumulation");
  require(g.m % scale_block == 0 && g.n % scale_block == 0 && g.k % scale_block == 0,
          "with scales of vectors or blocks m, n and k are multiples of 128");
}

void check_addresses(const Gemm& args) {
  const auto check = [&](const char* operand, const void* pointer, std::int64_t alignment) {
    check_address(pointer, alignment, operand, [&] { return text_of(args); });
  };
  check("the workspace", args.workspace, gemm_workspace_alignment);
  if (!is_float8(args.a.dtype)) return;
  check("a's inverse scale", args.a.inverse_scale, gemm_scale_alignment);
  check("b's inverse scale", args.b.inverse_scale, gemm_scale_alignment);
  check("a", args.a.data, float8_matrix_alignment);
  check("b", args.b.data, float8_matrix_alignment);
  check("c", args.c, float8_matrix_alignment);
}

}  // namespace

void check_operands(const Gemm& args) {
  check_scales(args);
  check_addresses(args);
}

}  // namespace octet
