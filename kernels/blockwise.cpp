#include "kernels/blockwise.h"

#include "kernels/addresses.h"

namespace octet {
namespace {

/// fp8 matrices begin as a GEMM's operands do (float8_matrix_alignment), and so does x where a kernel reads 16 bytes.
constexpr std::int64_t matrix_alignment = 16;

template <typename Args>
std::string text_of(const char* operation, const Args& a) {
  return fmt::format("{} of [{}, {}], {} > {}", operation, a.rows, a.columns, name_of(a.from), name_of(a.to));
}

template <typename Args>
void check_matrix(const char* operation, const Args& a) {
  if (a.rows % scale_block != 0 || a.columns % scale_block != 0) {
    throw internal_error("kernels", "{}: rows and columns must be multiples of {}", text_of(operation, a), scale_block);
  }
  if (!is_float8(a.to)) throw internal_error("kernels", "{}: expected a float8 format", text_of(operation, a));
  check_address(a.x, matrix_alignment, "x", [&] { return text_of(operation, a); });
}

}  // namespace

void check_operands(const QuantizeVectors& args) {
  constexpr const char* operation = "quantize_vectors";
  check_matrix(operation, args);
  for (const BlockwiseForm* form : {&args.by_row, &args.by_column}) {
    if (!form->wanted()) continue;
    if (form->inverse_scale == nullptr) {
      throw internal_error("kernels", "{}: codes without their inverse scales", text_of(operation, args));
    }
    check_address(form->y, matrix_alignment, "y", [&] { return text_of(operation, args); });
    check_address(form->inverse_scale, gemm_scale_alignment, "inverse_scale", [&] { return text_of(operation, args); });
  }
}

void check_operands(const QuantizeBlocks& args) {
  constexpr const char* operation = "quantize_blocks";
  check_matrix(operation, args);
  const auto text = [&] { return text_of(operation, args); };
  check_address(args.y, matrix_alignment, "y", text);
  check_address(args.y_transposed, matrix_alignment, "y_transposed", text);
  check_address(args.inverse_scale_by_row, gemm_scale_alignment, "inverse_scale_by_row", text);
  check_address(args.inverse_scale_by_column, gemm_scale_alignment, "inverse_scale_by_column", text);
}

}  // namespace octet
