#include "src/train/step_collectives.h"

#include <algorithm>
#include <utility>

#include "src/model/block_scales.h"
#include "src/model/tensors.h"
#include "src/ops/recipe.h"
#include "src/parallel/gather_schedule.h"

namespace octet {
namespace {

bool same_calls(const StepCollective& a, const StepCollective& b) {
  const auto same = [](const CommRecord& x, const CommRecord& y) {
    return x.operation == y.operation && x.group == y.group && x.dtype == y.dtype && x.count == y.count;
  };
  return std::ranges::equal(a.calls, b.calls, same);
}

/// The collectives of one group.
class Recorder {
 public:
  Recorder(std::vector<StepCollective>& all, std::string group, int ranks)
      : all_(all), group_(std::move(group)), ranks_(ranks) {}

  int ranks() const { return ranks_; }
  CommRecord call(std::string operation, DType dtype, std::int64_t count, std::string_view unit = {}) const {
    const bool of_all = operation == "all_gather" || operation == "reduce_scatter" || operation == "all_to_all";
    return {std::move(operation), group_, ranks_, dtype, count, (of_all ? ranks_ : 1) * count * size_of(dtype),
            std::string(unit)};
  }
  void add(std::vector<CommRecord> calls) {
    if (ranks_ == 1 || calls.empty()) return;
    StepCollective made{.calls = std::move(calls)};
    const auto known = std::ranges::find_if(all_, [&](const StepCollective& c) { return same_calls(c, made); });
    if (known != all_.end()) {
      ++known->times;
    } else {
      all_.push_back(std::move(made));
    }
  }

 private:
  std::vector<StepCollective>& all_;
  std::string group_;
  int ranks_;
};

/// As TpExchange (src/parallel/tp_exchange.cpp).
class RecordingExchange final : public Exchange {
 public:
  RecordingExchange(Part part, bool pipelined, bool scales_known, Recorder& tp)
      : Exchange(part, pipelined), scales_known_(scales_known), tp_(tp) {}

  void reduce_max(float*, std::int64_t n) override {
    if (!scales_known_) tp_.add({tp_.call("all_reduce_max", DType::f32, n, unit())});
  }
  void gather_rows(const Tensor& local, const Tensor&) override {
    tp_.add({tp_.call("all_gather", local.dtype, local.elements(), unit())});
  }
  void scatter_rows(const Tensor& partial, const Tensor& output, void*) override {
    const char* operation = partial.dtype == DType::f32 ? "reduce_scatter" : "all_to_all";
    tp_.add({tp_.call(operation, partial.dtype, output.elements(), unit())});
  }
  void start_gather(std::span<const Gather> gathers) override {
    for (int step = 1; step < part().count; ++step) {
      std::vector<CommRecord> calls;
      for (const Gather& g : gathers) add_exchange(calls, g.local.dtype, g.local.elements());
      tp_.add(std::move(calls));
    }
  }
  void await_arrival(int) override {}
  void send_part(int step, const Tensor& partial, void*) override {
    if (leaving(step) == part().index) return;
    std::vector<CommRecord> calls;
    add_exchange(calls, partial.dtype, partial.elements() / part().count);
    tp_.add(std::move(calls));
  }
  void finish_scatter(const Tensor&, const Tensor&, void*) override {}

 private:
  void add_exchange(std::vector<CommRecord>& calls, DType dtype, std::int64_t count) const {
    calls.push_back(tp_.call("send", dtype, count, unit()));
    calls.push_back(tp_.call("recv", dtype, count, unit()));
  }

  bool scales_known_;
  Recorder& tp_;
};

/// As FsdpWeights.
class RecordingWeights final : public WeightProvider {
 public:
  RecordingWeights(const ParameterList& list, const FsdpOptions& options, bool scales_known, Recorder& shards,
                   Recorder& tp)
      : list_(list),
        options_(options),
        scales_known_(scales_known),
        shards_(shards),
        tp_(tp),
        schedule_(options.reshard_after_forward),
        gathered_(list.units.size(), false) {}

  void begin_pass(std::span<const int> order) override { schedule_.begin(order); }

  std::span<const Tensor> gather(int unit) override {
    schedule_.advance(unit);
    ensure(unit);
    if (schedule_.next() >= 0) ensure(schedule_.next());
    tensors_.clear();
    const auto [first, last] = list_.range(unit);
    for (std::size_t i = first; i < last; ++i) {
      tensors_.push_back({nullptr, list_.parameters[i].gathered, list_.parameters[i].shape, nullptr});
    }
    return tensors_;
  }

  void release(int unit) override {
    if (!schedule_.keep(unit)) gathered_[static_cast<std::size_t>(unit)] = false;
  }

 private:
  void ensure(int unit) {
    if (gathered_[static_cast<std::size_t>(unit)]) return;
    gathered_[static_cast<std::size_t>(unit)] = true;
    const std::string& name = list_.units[static_cast<std::size_t>(unit)];
    const auto [first, last] = list_.range(unit);
    std::vector<CommRecord> calls;
    for (std::size_t i = first; i < last; ++i) {
      const ParameterSpec& p = list_.parameters[i];
      const bool cast_after = is_float8(p.gathered) && !options_.float8_all_gather;
      const DType travels = cast_after ? DType::bf16 : p.gathered;
      calls.push_back(shards_.call("all_gather", travels, piece(p, shards_.ranks()), name));
      if (cast_after && !scales_known_) tp_.add({tp_.call("all_reduce_max", DType::f32, 1, name)});
    }
    shards_.add(std::move(calls));
  }

 public:
  static std::int64_t piece(const ParameterSpec& p, int shards) {
    return Shard::of(p.shape, 0, shards).padded_elements();
  }

 private:
  const ParameterList& list_;
  FsdpOptions options_;
  bool scales_known_;
  Recorder& shards_;
  Recorder& tp_;
  GatherSchedule schedule_;
  std::vector<bool> gathered_;
  std::vector<Tensor> tensors_;
};

/// As FsdpGradients.
class RecordingGradients final : public GradientSink {
 public:
  RecordingGradients(const ParameterList& list, DType wire, Recorder& shards)
      : list_(list), wire_(wire), shards_(shards), targets_(list.units.size()) {}

  std::span<const GradientTarget> open(int unit) override {
    auto& targets = targets_[static_cast<std::size_t>(unit)];
    targets.clear();
    const auto [first, last] = list_.range(unit);
    for (std::size_t i = first; i < last; ++i) {
      targets.push_back({{nullptr, DType::f32, list_.parameters[i].shape, nullptr}, false});
    }
    return targets;
  }

  void close(int unit) override {
    const auto [first, last] = list_.range(unit);
    const char* operation = wire_ == DType::bf16 ? "all_to_all" : "reduce_scatter";
    std::vector<CommRecord> calls;
    for (std::size_t i = first; i < last; ++i) {
      calls.push_back(shards_.call(operation, wire_, RecordingWeights::piece(list_.parameters[i], shards_.ranks()),
                                   list_.units[static_cast<std::size_t>(unit)]));
    }
    shards_.add(std::move(calls));
  }

 private:
  const ParameterList& list_;
  DType wire_;
  Recorder& shards_;
  std::vector<std::vector<GradientTarget>> targets_;
};

}  // namespace

std::vector<StepCollective> step_collectives(const PlanInput& in, Stream& stream) {
  const LlamaSettings& s = in.settings;
  const MeshShape& mesh = in.mesh;
  const ParameterList list = llama_parameters(s.model, s.precision, s.float8, s.tp);
  const bool remembers = s.precision == Precision::float8 && float8_recipe(s.float8.recipe).remembers;

  std::vector<StepCollective> all;
  Recorder shards(all, "dp_shard", mesh.dp_shard), replicas(all, "dp_replicate", mesh.dp_replicate),
      tp(all, "tp", mesh.tp), replica(all, "replica", mesh.dp_shard * mesh.cp * mesh.tp),
      dp(all, "dp", mesh.dp_replicate * mesh.dp_shard),
      world(all, "world", mesh.pp * mesh.dp_replicate * mesh.dp_shard * mesh.cp * mesh.tp);
  RecordingExchange exchange(s.tp, s.async_tp, remembers, tp);
  RecordingWeights weights(list, in.fsdp, remembers, shards, tp);
  RecordingGradients gradients(list, in.fsdp.gradient_wire, shards);
  for (std::int64_t m = 0; m < in.micro_batches; ++m) Llama::dry_pass(s, stream, exchange, weights, gradients);

  // The end of the step: ShardedModel::finish_step and the loss.
  std::vector<CommRecord> not_cut;
  for (const ParameterSpec& p : list.parameters) {
    if (!p.cut.replicated()) continue;
    not_cut.push_back(tp.call("all_reduce_sum", DType::f32, RecordingWeights::piece(p, mesh.dp_shard)));
  }
  tp.add(std::move(not_cut));
  const std::int64_t elements = ShardLayout(list, 0, mesh.dp_shard).elements();
  replicas.add({replicas.call("all_reduce_sum", DType::f32, elements)});
  replica.add({replica.call("all_reduce_sum", DType::f32, 1)});
  const CastCounts casts = cast_counts(s.model, list);
  if (remembers && casts.total() > 0) world.add({world.call("all_reduce_max", DType::f32, casts.total())});
  const auto float8_weights =
      std::ranges::count_if(list.parameters, [](const ParameterSpec& p) { return is_float8(p.gathered); });
  if (!remembers && float8_weights > 0) replica.add({replica.call("all_reduce_max", DType::f32, float8_weights)});
  dp.add({dp.call("all_reduce_sum", DType::f32, 1)});
  return all;
}

}  // namespace octet
