#include "src/model/exchange_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace octet {
namespace {

/// Writes down the calls of one unit, each with the number of GEMMs that were run before it.
class RecordedExchange final : public NoExchange {
 public:
  enum class Kind : std::uint8_t { reduce_max, gather, scatter };
  struct Call {
    Kind kind;
    DType dtype;
    std::size_t gemms;
  };

  RecordedExchange(const LlamaSettings& s, std::string unit, const GemmTrace& gemms)
      : NoExchange(s.tp, s.async_tp), unit_of_interest_(std::move(unit)), gemms_(gemms) {}

  void reduce_max(float*, std::int64_t) override { add(Kind::reduce_max, DType::f32); }
  void gather_rows(const Tensor& local, const Tensor&) override { add(Kind::gather, local.dtype); }
  void scatter_rows(const Tensor& partial, const Tensor&, void*) override { add(Kind::scatter, partial.dtype); }
  void start_gather(std::span<const Gather> gathers) override {
    for (const Gather& g : gathers) add(Kind::gather, g.local.dtype);
  }
  void finish_scatter(const Tensor& partial, const Tensor&, void*) override { add(Kind::scatter, partial.dtype); }

  /// The calls between one GEMM and the next.
  std::vector<Call> between(std::size_t after, std::size_t before, Kind kind) const {
    std::vector<Call> found;
    std::ranges::copy_if(calls_, std::back_inserter(found),
                         [&](const Call& c) { return c.kind == kind && c.gemms >= after && c.gemms <= before; });
    return found;
  }

 private:
  void add(Kind kind, DType dtype) {
    if (unit() == unit_of_interest_) calls_.push_back({kind, dtype, gemms_.records().size()});
  }

  std::string unit_of_interest_;
  const GemmTrace& gemms_;
  std::vector<Call> calls_;
};

using Kind = RecordedExchange::Kind;

/// GEMMs of one kind that stand side by side in the trace: those of the linears of a group, or of one linear.
struct GemmRun {
  std::size_t begin = 0, end = 0;  ///< places in the trace
  std::vector<GemmTrace::Record> gemms;
};

/// The block's training pass: its GEMMs and what was exchanged around them.
struct Pass {
  GemmTrace gemms;
  RecordedExchange exchange;
  std::string unit;

  Pass(LlamaSettings settings, std::int64_t layer, Stream& stream)
      : exchange(settings, fmt::format("block.{}", layer), gemms), unit(fmt::format("block.{}", layer)) {
    settings.recompute = {};
    Llama::run_dry(settings, stream, exchange, gemms);
  }

  /// The GEMM of that name of these linears, each once: with an exchange in parts it stands there for each part.
  GemmRun find(std::string_view gemm, const std::vector<std::string>& linears) const {
    GemmRun run;
    for (std::size_t i = 0; i < gemms.records().size(); ++i) {
      const GemmTrace::Record& r = gemms.records()[i];
      if (r.unit != unit || r.gemm != gemm || std::ranges::find(linears, r.linear) == linears.end()) continue;
      if (run.gemms.empty()) run.begin = i;
      run.end = i + 1;
      if (std::ranges::find(run.gemms, r.linear, &GemmTrace::Record::linear) == run.gemms.end()) run.gemms.push_back(r);
    }
    return run;
  }
  std::optional<DType> scattered_after(std::size_t gemm) const {
    const auto calls = exchange.between(gemm, gemm, Kind::scatter);
    return calls.empty() ? std::nullopt : std::optional(calls.front().dtype);
  }
};

/// Linears that share an input, in the order of forward; backward visits them in reverse.
const std::vector<std::vector<std::string>> groups = {{"attention.wq", "attention.wk", "attention.wv"},
                                                      {"attention.wo"},
                                                      {"feed_forward.w1", "feed_forward.w3"},
                                                      {"feed_forward.w2"}};

/// The dtype in which an operand of this format travelled, among what was gathered for its group.
std::optional<DType> travelled(const std::vector<RecordedExchange::Call>& gathers, DType format) {
  if (gathers.empty()) return std::nullopt;
  const auto same = std::ranges::find(gathers, format, &RecordedExchange::Call::dtype);
  return same != gathers.end() ? same->dtype : gathers.front().dtype;
}

void add_inputs(std::vector<OperandExchange>& all, const Pass& pass, const std::vector<std::string>& group) {
  const GemmRun run = pass.find("output", group);
  const auto gathers = pass.exchange.between(run.begin, run.begin, Kind::gather);
  const bool reduced = !pass.exchange.between(run.begin, run.begin, Kind::reduce_max).empty();
  const std::size_t backward = pass.find("grad_input", group).begin;
  const bool again = !gathers.empty() && !pass.exchange.between(backward, backward, Kind::gather).empty();
  bool in_high = false;
  for (const bool float8 : {false, true}) {
    OperandExchange x;
    for (const GemmTrace::Record& r : run.gemms) {
      if (is_float8(r.a) != float8) continue;
      x.linears.push_back(r.linear);
      x.format = r.a;
      x.several_scales = r.a_scales != ScaleForm::tensor;
    }
    if (x.linears.empty()) continue;
    x.reduced = reduced && float8;
    x.travels = travelled(gathers, x.format);
    x.shared = x.travels && !is_float8(*x.travels) && std::exchange(in_high, true);
    x.gathered_again = again;
    x.scattered = pass.scattered_after(run.end);
    all.push_back(x);
  }
}

void add_gradients(std::vector<OperandExchange>& all, const Pass& pass, const std::vector<std::string>& group) {
  const std::optional<DType> scattered = pass.scattered_after(pass.find("grad_input", group).end);
  const bool column_parallel = scattered.has_value();              // what is gathered before its GEMMs is the input
  const std::size_t begin = pass.find("grad_input", group).begin;  // before it, SwiGLU's two exchange their abs-maxes
  for (const std::string& linear : group) {
    const GemmRun run = pass.find("grad_input", {linear});
    OperandExchange x{.linears = {linear}, .gradient = true, .scattered = scattered};
    x.format = run.gemms.front().a;
    x.several_scales = run.gemms.front().a_scales != ScaleForm::tensor;
    x.reduced = x.float8() && !pass.exchange.between(begin, run.begin, Kind::reduce_max).empty();
    if (!column_parallel) x.travels = travelled(pass.exchange.between(run.begin, run.begin, Kind::gather), x.format);
    all.push_back(x);
  }
}

std::string short_names(const OperandExchange& x) {
  std::vector<std::string> names;
  for (const std::string& name : x.linears) names.push_back(name.substr(name.find('.') + 1));
  return fmt::format("{}", fmt::join(names, " "));
}

std::string amax_text(const OperandExchange& x) {
  if (!x.float8()) return "-";
  if (x.reduced) return "MAX over tp";
  return x.several_scales ? "own vectors" : "once a step";
}

std::string cast_text(const OperandExchange& x) {
  if (!x.float8()) return "-";
  if (!x.travels) return fmt::format("{} locally", name_of(x.format));
  return fmt::format("{} {} gather", name_of(x.format), x.cast_first() ? "before" : "after");
}

std::string travel_text(const OperandExchange& x) {
  if (!x.travels) return "-";
  return x.shared ? "with the above" : fmt::format("{} gathered", name_of(*x.travels));
}

std::string kept_text(const OperandExchange& x) {
  if (x.gradient) return "nothing";
  if (!x.travels) return "as it is";
  return x.gathered_again ? "own rows, gathered again" : "gathered";
}

}  // namespace

std::vector<OperandExchange> block_exchanges(const LlamaSettings& settings, std::int64_t layer, Stream& stream) {
  const Pass pass(settings, layer, stream);
  std::vector<OperandExchange> all;
  for (const auto& group : groups) add_inputs(all, pass, group);
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) add_gradients(all, pass, *group);
  return all;
}

std::string exchange_table(const LlamaSettings& settings, std::int64_t layer, Stream& stream) {
  const auto row = [](auto linear, auto operand, auto amax, auto cast, auto travels, auto kept, auto result) {
    return fmt::format("  {:<10} {:<8} {:<12} {:<18} {:<16} {:<25} {}\n", linear, operand, amax, cast, travels, kept,
                       result);
  };
  std::string table = row("linear", "operand", "abs-max", "cast", "travels", "kept for backward", "result");
  for (const OperandExchange& x : block_exchanges(settings, layer, stream)) {
    table +=
        row(short_names(x), x.gradient ? "dY" : "X", amax_text(x), cast_text(x), travel_text(x), kept_text(x),
            x.scattered ? fmt::format("partial {}, scattered in {}", x.gradient ? "dX" : "Y", name_of(*x.scattered))
                        : std::string("-"));
  }
  return table;
}

}  // namespace octet
