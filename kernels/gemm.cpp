#include "kernels/gemm.h"

#include "kernels/addresses.h"

namespace octet {

std::string text_of(const Gemm& g) {
  return fmt::format("gemm of m {} n {} k {}, {}{} x {}{} > {}", g.m, g.n, g.k, name_of(g.a.dtype),
                     g.a.transposed ? "'" : "", name_of(g.b.dtype), g.b.transposed ? "'" : "", name_of(g.c_dtype));
}

void check_gemm_addresses(const Gemm& args) {
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

}  // namespace octet
