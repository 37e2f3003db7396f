#include "src/ops/gemm_trace.h"

#include <fmt/format.h>

namespace octet {

namespace {

/// What the record says of scales that change along the sum; empty for others.
std::string scales_along(const GemmTrace::Record& r) {
  if (!along_contraction(r.a_scales)) return "";
  return fmt::format(R"(, "a_scales": "{}", "b_scales": "{}")", name_of(r.a_scales), name_of(r.b_scales));
}

}  // namespace

std::string GemmTrace::json_lines() const {
  std::string text;
  for (const Record& r : records_) {
    text += fmt::format(
        R"({{"operation": "gemm", "unit": "{}", "linear": "{}", "gemm": "{}", "m": {}, "n": {}, "k": {}, )"
        R"("a": "{}", "b": "{}", "c": "{}", "fast_accumulate": {}, "emulate_hopper": {}, "recomputed": {}, )"
        R"("a_scale_each": {}, "b_scale_each": {}{}}})"
        "\n",
        r.unit, r.linear, r.gemm, r.m, r.n, r.k, name_of(r.a), name_of(r.b), name_of(r.c), r.fast_accumulate,
        r.emulate_hopper, r.recomputed, r.a_scales == ScaleForm::each, r.b_scales == ScaleForm::each, scales_along(r));
  }
  return text;
}

}  // namespace octet
