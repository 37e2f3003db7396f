// The optimizer's update beside the next forward pass, on a device without memory: every kernel that touches what the
// update reads or writes comes before or after it, whatever the streams do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kernels/table.h"
#include "src/comm/dry_communicator.h"
#include "src/comm/mesh.h"
#include "src/ops/recipes/recipe_list.h"
#include "src/run_config/checks/layout.h"
#include "src/train/plan/dry_run.h"
#include "src/train/step/run_settings.h"

namespace octet {
namespace {

using Addresses = std::set<std::uintptr_t>;

/// All words among a kernel's arguments, of which some are addresses. Between members lies what the stack held before,
/// such as addresses of other kernels' arguments.
template <typename Arguments>
Addresses words_of(const void* arguments) {
  Arguments copy;
  std::memcpy(static_cast<void*>(&copy), arguments, sizeof copy);
#if __has_builtin(__builtin_clear_padding)
  __builtin_clear_padding(&copy);
#endif
  Addresses words;
  for (std::size_t i = 0; i + sizeof(std::uintptr_t) <= sizeof copy; i += sizeof(std::uintptr_t)) {
    std::uintptr_t word = 0;
    std::memcpy(&word, reinterpret_cast<const char*>(&copy) + i, sizeof word);
    words.insert(word);
  }
  return words;
}

constexpr bool sees_padding =
#if __has_builtin(__builtin_clear_padding)
    false;
#else
    true;
#endif

Addresses words_of(const Work& work) {
#define OCTET_WORDS(entry, Arguments, kind) {#entry, words_of<Arguments>},
  static const std::map<std::string_view, Addresses (*)(const void*)> of = {OCTET_OPERATIONS(OCTET_WORDS, OCTET_WORDS)};
#undef OCTET_WORDS
  return work.arguments == nullptr ? Addresses() : of.at(work.name)(work.arguments);
}

/// All kernels, with what must be done before each, and the addresses among its arguments.
class Order final : public WorkLog {
 public:
  struct Piece {
    std::string name;
    const Stream* stream;
    Addresses addresses;
    std::map<const Stream*, std::int64_t> before;  ///< on each stream, the last piece that is done when it begins
    std::int64_t number;
  };

  void set_model_stream(const Stream& stream) override { model_ = &stream; }
  const Stream* model_stream() const { return model_; }
  double add(const Stream& stream, const Work& work, const Turn& turn) override {
    Piece piece{std::string(work.name), &stream, words_of(work), done_[&stream], turn.number};
    for (const std::int64_t other : turn.after) merge(piece.before, at(other));
    done_[&stream] = piece.before;
    done_[&stream][&stream] = turn.number;
    pieces_.push_back(std::move(piece));
    return 0;
  }

  const std::vector<Piece>& pieces() const { return pieces_; }
  static bool precedes(const Piece& a, const Piece& b) {
    const auto last = b.before.find(a.stream);
    return last != b.before.end() && last->second >= a.number;
  }

 private:
  const Piece& at(std::int64_t number) const { return pieces_[static_cast<std::size_t>(number)]; }
  static void merge(std::map<const Stream*, std::int64_t>& into, const Piece& piece) {
    const auto raise = [&](const Stream* stream, std::int64_t number) {
      const auto [place, added] = into.try_emplace(stream, number);
      if (!added) place->second = std::max(place->second, number);
    };
    for (const auto& [stream, number] : piece.before) raise(stream, number);
    raise(piece.stream, piece.number);
  }

  const Stream* model_ = nullptr;
  std::map<const Stream*, std::map<const Stream*, std::int64_t>> done_;
  std::vector<Piece> pieces_;
};

/// A rank's state in memory, by what it belongs to: bytes [begin, end) of a unit's pieces, scales, or a scalar.
struct Place {
  std::string name;
  std::uintptr_t begin, end;
};

std::vector<Place> places_of(ShardedModel& model) {
  std::vector<Place> places;
  const auto add = [&](const std::string& name, const void* begin, std::int64_t bytes) {
    const auto first = reinterpret_cast<std::uintptr_t>(begin);
    places.push_back({name, first, first + static_cast<std::uintptr_t>(bytes)});
  };
  const ParameterList& list = model.parameters();
  for (std::size_t i = 0; i < list.parameters.size(); ++i) {
    const std::string& name = list.parameters[i].name;
    const std::int64_t elements = model.master().layout().shard(i).elements(), bytes = elements * 4;
    add("master of " + name, model.master().data(i), bytes);
    add("gradient of " + name, model.gradients().piece(i), elements * size_of(model.gradients().dtype(i)));
    add("first moment of " + name, model.first_moment().data(i), bytes);
    add("second moment of " + name, model.second_moment().data(i), bytes);
    if (model.scales().scale(i) == nullptr) continue;
    add("scale of " + name, model.scales().scale(i), 4);
    add("inverse scale of " + name, model.scales().inverse(i), 4);
    add("abs-max of " + name, model.scales().amax(i), 4);
    if (!model.scales().predicts()) continue;
    add("leader of " + name, model.scales().prediction(i).leader, 8);
    add("predicted scale of " + name, model.scales().prediction(i).scale, 4);
  }
  add("clip factor", model.norm().factor(), 4);
  add("skip flag", model.norm().skip(), 4);
  return places;
}

bool touches(const Order::Piece& piece, const Place& place) {
  const auto first = piece.addresses.lower_bound(place.begin);
  return first != piece.addresses.end() && *first < place.end;
}

/// Those of all weights, which recipe delayed records at once, by the address of the first.
Place abs_maxes_of(ShardedModel& model, const std::vector<Place>& places) {
  const float* first = model.scaling().weights().amax;
  Place all{"abs-maxes of weights", reinterpret_cast<std::uintptr_t>(first), 0};
  for (const Place& place : places) {
    if (first != nullptr && place.name.starts_with("abs-max of")) all.end = std::max(all.end, place.end);
  }
  return all;
}

RunConfig config_of(const char* recipe) {
  RunConfig c;
  c.device = DeviceType::cuda;
  c.model = {.name = "beside",
             .dim = 256,
             .layers = 3,
             .heads = 4,
             .kv_heads = 4,
             .head_dim = 64,
             .ffn_dim = 512,
             .vocab_size = 256};
  c.precision = std::string_view(recipe) == "bf16" ? Precision::bf16 : Precision::float8;
  if (c.precision == Precision::float8) c.float8.recipe = recipe;
  c.train.seq_len = 128;
  c.train.validation_batches = 1;
  c.data.validation_fraction = 0.1;
  c.optimizer.beside_forward = AutoBool::automatic;
  return c;
}

struct Ordered {
  std::size_t updates = 0;      ///< kernels of the optimizer's stream
  std::size_t beside = 0;       ///< kernels of other streams that run beside the update of a unit
  std::set<std::string> loose;  ///< what a kernel and an update touch in no order
};

/// Two steps, a validation and two more; of one micro-batch where gradients in bf16 allow no second.
Ordered ordered(RunConfig config, int ranks, int rank) {
  const int micro_batches = config.parallel.gradient_wire == GradientForm::bf16 ? 1 : 2;
  config.train.global_batch =
      micro_batches * config.train.micro_batch * ranks / config.parallel.tp / config.parallel.pp;
  config.parallel = resolve_layout(config, ranks);
  const MeshShape mesh = mesh_shape(config.parallel);
  Order order;
  DryRun dry(config, mesh, rank, DeviceType::cpu, &order);
  const std::vector<Place> places = places_of(dry.trainer().model());
  const Place abs_maxes = abs_maxes_of(dry.trainer().model(), places);
  const std::size_t begin = order.pieces().size();
  for (int step = 0; step < 4; ++step) {
    dry.step();
    if (step == 1) dry.validate();
  }
  Ordered found;
  const std::span<const Order::Piece> pieces(order.pieces().begin() + static_cast<std::ptrdiff_t>(begin),
                                             order.pieces().end());
  const auto first = std::ranges::find(pieces, "adamw", &Order::Piece::name);
  if (first == pieces.end() || first->stream == order.model_stream()) return found;
  const Stream* const stream = first->stream;
  const auto in_order = [](const Order::Piece& a, const Order::Piece& b) {
    return Order::precedes(a, b) || Order::precedes(b, a);
  };
  for (const Order::Piece& update : pieces) {
    if (update.stream != stream) continue;
    ++found.updates;
    for (const Order::Piece& other : pieces) {
      if (other.stream == stream || in_order(update, other)) continue;
      ++found.beside;
      for (const Place& place : places) {
        if (touches(update, place) && touches(other, place)) found.loose.insert(other.name + ", " + place.name);
      }
      if (other.name == "record_amax" && touches(other, abs_maxes) && touches(update, abs_maxes)) {
        found.loose.insert(other.name + ", " + abs_maxes.name);
      }
    }
  }
  return found;
}

class UpdateBeside : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (sees_padding) GTEST_SKIP() << "this compiler cannot tell arguments from what lies between them";
  }
};

INSTANTIATE_TEST_SUITE_P(Recipes, UpdateBeside,
                         testing::Values("bf16", "tensorwise", "rowwise", "rowwise_with_gw_hp", "blockwise", "delayed"),
                         [](const auto& recipe) { return std::string(recipe.param); });

/// Of one rank, which reads fp32 masters as weights and keeps transposed copies, and the variants of what it gathers.
TEST_P(UpdateBeside, IsInOrderWithAllThatTouchesItsState) {
  const std::map<std::string, std::function<void(RunConfig&)>> variants = {
      {"plain", [](RunConfig&) {}},
      {"tied, recomputing",
       [](RunConfig& c) {
         c.model.tied_embedding = true;
         c.recompute.mode = RecomputeMode::full;
       }},
      {"exchanging", [](RunConfig& c) { c.parallel.one_rank_exchange = true; }},
      {"exchanging on the model's stream",
       [](RunConfig& c) {
         c.parallel.one_rank_exchange = true;
         c.parallel.overlap = AutoBool::no;
       }},
      {"zero 3", [](RunConfig& c) { c.parallel.zero = Zero::three; }},
      {"gradients in bf16", [](RunConfig& c) { c.parallel.gradient_wire = GradientForm::bf16; }},
      {"documents", [](RunConfig& c) { c.data.document_mask = true; }},
      {"cast after the gather", [](RunConfig& c) {
         if (c.precision == Precision::float8 && float8_recipe(c.float8)->casts_first())
           c.float8.all_gather = AutoBool::no;
       }}};
  for (const auto& [name, change] : variants) {
    SCOPED_TRACE(name);
    RunConfig config = config_of(GetParam());
    change(config);
    const Ordered found = ordered(config, 1, 0);
    EXPECT_EQ(found.loose, std::set<std::string>());
    EXPECT_GT(found.beside, found.updates) << "nothing is beside it";
  }
}

/// Where ranks exchange nothing after the update.
TEST_P(UpdateBeside, IsInOrderOnSeveralRanks) {
  const bool tensorwise = GetParam() == std::string_view("tensorwise");
  for (const Zero zero : {Zero::one, Zero::two, Zero::three}) {
    for (const int tp : {1, 2}) {
      SCOPED_TRACE(fmt::format("zero {}, tp {}", zero, tp));
      RunConfig config = config_of(GetParam());
      config.parallel.zero = zero;
      config.parallel.tp = tp;
      config.parallel.async_tp = tp > 1 && GetParam() == std::string_view("delayed");
      config.parallel.dp_replicate = 2;
      const Ordered found = ordered(config, 8, 3);
      EXPECT_EQ(found.loose, std::set<std::string>());
      EXPECT_EQ(found.beside > 0, !tensorwise) << "tensorwise exchanges abs-maxes and stays on the model's stream";
    }
  }
}

TEST_P(UpdateBeside, IsInOrderInPipelines) {
  for (const bool tied : {false, true}) {
    for (const int rank : {0, 1}) {
      SCOPED_TRACE(fmt::format("tied {}, rank {}", tied, rank));
      RunConfig config = config_of(GetParam());
      config.model.tied_embedding = tied;
      config.model.layers = 4;
      config.parallel.pp = 2;
      config.parallel.pp_chunks = 2;
      config.parallel.pp_schedule = PipelineOrder::interleaved;
      const Ordered found = ordered(config, 2, rank);
      EXPECT_EQ(found.loose, std::set<std::string>());
      EXPECT_GT(found.beside, found.updates);
    }
  }
}

/// Whoever takes a part of the state gives the model's stream work that comes after the update.
TEST(UpdateBesideState, IsAtRestForWhoTakesIt) {
  using Take = std::function<void(ShardedModel&)>;
  const std::map<std::string, Take> takers = {{"nobody", [](ShardedModel&) {}},
                                              {"master", [](ShardedModel& m) { m.master(); }},
                                              {"gradients", [](ShardedModel& m) { m.gradients(); }},
                                              {"first moment", [](ShardedModel& m) { m.first_moment(); }},
                                              {"second moment", [](ShardedModel& m) { m.second_moment(); }},
                                              {"scales", [](ShardedModel& m) { m.scales(); }},
                                              {"scaling", [](ShardedModel& m) { m.scaling(); }},
                                              {"new weights", [](ShardedModel& m) { m.weights_changed(); }},
                                              {"initial weights", [](ShardedModel& m) { m.initialize(1); }},
                                              {"join", [](ShardedModel& m) { m.join_update(); }}};
  for (const auto& [name, take] : takers) {
    SCOPED_TRACE(name);
    Order order;
    const auto device = make_dry_device(DeviceType::cuda, DeviceType::cpu, &order);
    const auto stream = device->make_stream();
    Mesh mesh(make_dry_communicator({.shape = {}, .rank = 0}, *stream), {});
    const RunConfig config = config_of("tensorwise");
    ShardedModel model(llama_settings(config, 0), {}, fsdp_options(config, 1), mesh, *stream, nullptr);
    model.begin_step(1);
    model.finish_step(1, 1e-3, GpuSplit{});
    take(model);
    float value = 0;
    kernels_of(*stream).sum(*stream, {.x = &value, .n = 1, .out = &value});
    const Order::Piece& reader = order.pieces().back();
    const auto last = std::find_if(order.pieces().rbegin(), order.pieces().rend(),
                                   [](const Order::Piece& piece) { return piece.name == "adamw"; });
    ASSERT_NE(last, order.pieces().rend());
    EXPECT_EQ(Order::precedes(*last, reader), name != "nobody");
    EXPECT_EQ(model.update_under_way(), name == "nobody");
  }
}

}  // namespace
}  // namespace octet
