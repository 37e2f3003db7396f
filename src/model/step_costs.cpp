#include "src/model/step_costs.h"

#include <fmt/ranges.h>

namespace octet {
namespace {

std::string label(const RecomputeConfig& c) {
  std::string text(name_of(c.mode));
  if (c.mode == RecomputeMode::selective) {
    text += c.keep.empty() ? fmt::format(" {}", c.preset) : fmt::format(", keep {}", fmt::join(c.keep, " "));
  }
  return c.every == 1 ? text : fmt::format("{}, every {}", text, c.every);
}

class CountedFlops final : public WorkLog {
 public:
  double add(const Stream&, const Work& work, const Turn&) override {
    const bool again = StepPartScope::current() == StepPart::recompute;
    sum_.all += work.flops;
    if (again) sum_.recomputed += work.flops;
    if (!again && is_float8(work.multiplied)) sum_.float8 += work.flops;
    return 0;
  }
  StepFlops of_a_token(const LlamaSettings& s) const {
    const double parts = s.tp.count, tokens = static_cast<double>(s.micro_batch * s.seq_len);
    return {sum_.all * parts / tokens, sum_.float8 * parts / tokens, sum_.recomputed * parts / tokens};
  }

 private:
  StepFlops sum_;  ///< FLOPs of a micro-batch on this rank
};

}  // namespace

StepFlops step_flops(const LlamaSettings& settings, Stream& stream) {
  CountedFlops counted;
  Llama::plan(settings, stream, kernels_of(stream), &counted);
  return counted.of_a_token(settings);
}

RecomputeCost recompute_cost(LlamaSettings settings, const RecomputeConfig& recompute, Stream& stream) {
  settings.recompute = recompute;
  CountedFlops counted;
  const Llama::MemoryNeeds needs = Llama::plan(settings, stream, kernels_of(stream), &counted);
  return {needs.activations * settings.slots + needs.recomputed,
          counted.of_a_token(settings).recomputed / settings.model.flops_per_token(settings.seq_len)};
}

std::string recompute_table(const LlamaSettings& settings, Stream& stream) {
  std::string table = fmt::format("  {:>16} {:>12}  {}\n", "activations, MiB", "extra FLOPs", "recompute");
  const auto row = [&](const RecomputeConfig& c, bool chosen) {
    const RecomputeCost cost = recompute_cost(settings, c, stream);
    table += fmt::format("  {:>16.1f} {:>10.1f} %  {}{}\n", static_cast<double>(cost.activations) / 0x1p20,
                         100 * cost.extra_flops, label(c), chosen ? " (chosen)" : "");
  };
  const RecomputeConfig& c = settings.recompute;
  const bool plain_full = c.mode == RecomputeMode::full && c.every == 1;
  row({}, c.mode == RecomputeMode::none);
  row({.mode = RecomputeMode::full}, plain_full);
  if (c.mode != RecomputeMode::none && !plain_full) row(c, true);
  return table;
}

}  // namespace octet
