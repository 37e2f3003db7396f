// Rows of GEMM: the product alone, and with the casts that a recipe of float8 makes in front of it.
#include "src/base/error.h"
#include "tests/benchmark/gpu/gemm_ways.h"
#include "tests/benchmark/gpu/operands.h"

namespace octet::bench {
namespace {

/// Storage and formats of the three GEMMs of a linear.
struct Form {
  bool a_transposed = false;  ///< as a bf16 linear stores it; fp8 operands always have k contiguous
  bool b_transposed = false;
  DType a_float8 = DType::e4m3;               ///< of recipes with a scale a tensor; the others have e4m3 alone
  ScaleForm b_blockwise = ScaleForm::blocks;  ///< a weight's, or an input's
  DType c = DType::bf16;
};

Form form_named(const std::string& name) {
  if (name == "forward") return {.b_transposed = true};
  if (name == "grad_input") return {.a_float8 = DType::e5m2};
  if (name == "grad_weight")
    return {.a_transposed = true, .a_float8 = DType::e5m2, .b_blockwise = ScaleForm::vectors, .c = DType::f32};
  throw usage_error("benchmark", "form {}: expected forward, grad_input or grad_weight", name);
}

struct Operands {
  Operand a, b;
};

Operands operands(Case& c, const std::string& mode, const Form& form, std::int64_t m, std::int64_t n, std::int64_t k) {
  // k is contiguous in a stored [m, k] and in b stored [n, k].
  const auto a_as = [&](DType format) { return Source{m, k, form.a_transposed, format}; };
  const Source b{n, k, !form.b_transposed, DType::e4m3};
  if (mode == "bf16") {
    return {stored(c, DType::bf16, m, k, form.a_transposed), stored(c, DType::bf16, n, k, form.b_transposed)};
  }
  if (mode == "fp8") return {stored(c, form.a_float8, m, k, false), stored(c, DType::e4m3, n, k, true)};
  if (mode == "fp8_casts") return {cast_dynamic(c, a_as(form.a_float8)), cast_dynamic(c, b)};
  if (mode == "delayed_casts") return {cast_delayed(c, a_as(form.a_float8)), cast_delayed(c, b)};
  constexpr ScaleForm each = ScaleForm::each, vectors = ScaleForm::vectors;
  if (mode == "rowwise") return {stored(c, DType::e4m3, m, k, false, each), stored(c, DType::e4m3, n, k, true, each)};
  if (mode == "rowwise_casts") return {cast_rowwise(c, a_as(DType::e4m3)), cast_rowwise(c, b)};
  // rowwise_with_gw_hp: a scale a row of the output gradient, one for the weight.
  if (mode == "gw_hp") return {stored(c, DType::e4m3, m, k, false, each), stored(c, DType::e4m3, n, k, true)};
  if (mode == "gw_hp_casts") return {cast_rowwise(c, a_as(DType::e4m3)), cast_dynamic(c, b)};
  if (mode == "blockwise") {
    return {stored(c, DType::e4m3, m, k, false, vectors), stored(c, DType::e4m3, n, k, true, form.b_blockwise)};
  }
  if (mode == "blockwise_casts") {
    return {cast_vectors(c, a_as(DType::e4m3)), form.b_blockwise == vectors ? cast_vectors(c, b) : cast_blocks(c, b)};
  }
  throw usage_error("benchmark",
                    "mode {}: expected bf16, fp8, rowwise, gw_hp, blockwise, fp8_casts, delayed_casts, rowwise_casts, "
                    "gw_hp_casts or blockwise_casts",
                    mode);
}

struct Product {
  Gemm args;
  Operand a, b;
};

Product product(Case& c, const Row& row) {
  Form form = form_named(row.at("form"));
  if (row.value("gradient", "") == "bf16") form.c = DType::bf16;
  const std::string mode = row.at("mode");
  Gemm args;
  args.c_dtype = form.c;
  args.m = row.at("m");
  args.n = row.at("n");
  args.k = row.at("k");
  args.c = c.zeros(args.m * args.n * size_of(form.c));
  args.beta = row.value("beta", 0.0f);
  args.multiprocessors = row.value("multiprocessors", 0);
  // Where the library has it; with scales along k sums are promoted.
  const bool fast = row.at("form") == "forward" || row.value("fast", false);
  args.fast_accumulate = mode != "bf16" && !mode.starts_with("blockwise") && fast;
  auto [a, b] = operands(c, mode, form, args.m, args.n, args.k);
  args.a = a.operand;
  args.b = b.operand;
  if (mode != "bf16") args.b.transposed = true;
  args.workspace_bytes = c.place().kernels.gemm_workspace(args);
  args.workspace = c.output(args.workspace_bytes);
  return {args, std::move(a), std::move(b)};
}

}  // namespace

/// "m", "n", "k", "form"; "gradient": bf16 stores a weight's gradient in that; "beta": 1 adds to c; "fast": a gradient
/// has fast accumulation, as the forward product has; "multiprocessors": that the algorithm is chosen for; "mode":
/// bf16, or fp8, rowwise, gw_hp or blockwise (the product alone, by its scales), and with _casts behind the casts of
/// both operands from bf16, too; delayed_casts: those of fp8 without the abs-max. By the algorithm that a run times,
/// and by cuBLASLt's first proposal, beside it where there are no casts: the faster counts.
void make_gemm(Case& c, const Row& row) {
  const Product made = product(c, row);
  std::vector<Way> ways = chosen_ways(c.place(), made.args);
  const std::string mode = row.at("mode");
  if (mode.ends_with("_casts")) ways.erase(ways.begin(), ways.end() - 1);
  for (Way& way : ways) {
    c.add({.name = way.name,
           .launch = [p = c.place(), before_a = made.a.prepare, before_b = made.b.prepare, multiply = way.launch] {
             before_a(p);
             before_b(p);
             multiply();
           }});
  }
}

/// The same keys, of modes without casts: as a run makes the product, and with one thing changed at a time.
void make_gemm_ways(Case& c, const Row& row) {
  for (Way& way : compared_ways(c, product(c, row).args)) c.add(std::move(way));
}

}  // namespace octet::bench
