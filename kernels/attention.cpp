#include "kernels/attention.h"

#include <fmt/format.h>

#include <initializer_list>
#include <utility>

#include "kernels/addresses.h"
#include "kernels/span_attention.h"

namespace octet {
namespace {

void check(const char* operation, std::initializer_list<std::pair<const char*, const void*>> operands) {
  for (const auto& [name, pointer] : operands) {
    check_address(pointer, attention_alignment, name, [&] { return operation; });
  }
}

}  // namespace

std::string text_of(const AttentionProblem& problem) {
  const AttentionShape& s = problem.shape;
  return fmt::format("{} b{} s{} h{}/{} d{} scale {:.9g} {}", problem.pass, s.batch, s.seq, s.heads, s.kv_heads,
                     s.head_dim, s.scale, name_of(s.dtype));
}

void check_operands(const AttentionForward& args) {
  check("attention", {{"q", args.q}, {"k", args.k}, {"v", args.v}, {"o", args.o}, {"log_sum_exp", args.log_sum_exp}});
}

void check_operands(const AttentionBackward& args) {
  check("attention backward", {{"q", args.q},
                               {"k", args.k},
                               {"v", args.v},
                               {"o", args.o},
                               {"d_o", args.d_o},
                               {"log_sum_exp", args.log_sum_exp},
                               {"dq", args.dq},
                               {"dk", args.dk},
                               {"dv", args.dv}});
}

void check_operands(const SpanAttention& args) {
  check("attention to spans", {{"q", args.q}, {"k", args.k}, {"v", args.v}, {"o", args.o}, {"spans", args.spans}});
}

}  // namespace octet
