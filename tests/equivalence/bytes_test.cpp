// Bytes that travel in one training step, from the trace, against the formula of docs/communication.md, exactly.
#include <gtest/gtest.h>

#include <map>

#include "src/ops/recipe.h"
#include "tests/equivalence/harness.h"

namespace octet {
namespace {

constexpr std::int64_t seq_len = 32, sequences_a_rank = 2;

ModelConfig model_of(bool tied) {
  ModelConfig m{.name = "bytes", .dim = 64, .layers = 3, .heads = 4, .kv_heads = 4, .ffn_dim = 128, .vocab_size = 76};
  m.tied_embedding = tied;
  m.finish();
  return m;
}

using Bytes = std::map<std::string, std::int64_t>;  ///< by "group operation"

/// The formula, for a mesh of `shards` × `tp` ranks with one replica's groups beside it.
class Formula {
 public:
  Formula(const ModelConfig& model, const Harness::Options& options, const MeshShape& mesh)
      : m_(model),
        o_(options),
        mesh_(mesh),
        micro_batches_(sequences_a_rank / options.micro_batch),
        tokens_(options.micro_batch * seq_len),
        storage_(size_of(storage_dtype(options.precision))) {}

  Bytes bytes() {
    float8_ = o_.precision == Precision::float8 &&
              float8_recipe(o_.float8.recipe).may_gather_float8();  // rowwise: bf16 travels
    const ParameterList list = llama_parameters(m_, o_.precision, o_.float8, {0, mesh_.tp});
    for (const ParameterSpec& p : list.parameters) parameter(p);
    if (mesh_.tp > 1) tensor_parallel();
    add("dp all_reduce_sum", 4);       // the loss, of the whole step in this test
    add("replica all_reduce_sum", 4);  // sum of squares of the gradients
    return all_;
  }

 private:
  void add(const std::string& what, std::int64_t bytes) {
    if (bytes != 0) all_[what] += bytes;
  }

  /// Times that a unit is gathered in a step.
  std::int64_t gathers(const ParameterSpec& p) const {
    if (!o_.reshard) return 1;
    const bool block = p.unit != embedding_unit && p.unit != head_unit(m_);
    const bool last = p.unit == block_unit(m_.layers - 1);  // stays until its backward
    const bool twice = (block && !last) || (p.unit == embedding_unit && m_.tied_embedding);
    return micro_batches_ * (twice ? 2 : 1);
  }

  void parameter(const ParameterSpec& p) {
    const std::int64_t shards = mesh_.dp_shard, row = p.shape.row_elements();
    const std::int64_t padded = (p.shape[0] + shards - 1) / shards * shards * row;
    const bool float8 = is_float8(p.gathered);
    if (shards > 1) {
      const std::int64_t size = float8 && !gathers_float8(o_.float8) ? 2 : size_of(p.gathered);
      add("dp_shard all_gather", gathers(p) * padded * size);
      add("dp_shard reduce_scatter", micro_batches_ * padded * 4);
    }
    if (float8) add("replica all_reduce_max", 4);
    if (float8 && !gathers_float8(o_.float8) && mesh_.tp > 1) add("tp all_reduce_max", gathers(p) * 4);
    const std::int64_t aligned = (padded / shards + 63) / 64 * 64;  // pieces start at multiples of 256 bytes
    if (mesh_.dp_replicate > 1) add("dp_replicate all_reduce_sum", aligned * 4);
    if (mesh_.tp > 1 && p.shape.rank() == 1) add("tp all_reduce_sum", padded / shards * 4);
  }

  void tensor_parallel() {
    const std::int64_t stream = tokens_ * m_.dim;  // elements of the residual stream, of all tokens
    const std::string scatter = o_.precision == Precision::fp32 ? "tp reduce_scatter" : "tp all_to_all";
    const std::int64_t operand = float8_ ? 1 : storage_;
    const std::int64_t inputs = o_.tp_keep_gathered ? 2 : 4;  // of q k v and of w1 w3, forward and again in backward
    const std::int64_t gradients = 2;                         // of wo and w2
    const std::int64_t blocks = micro_batches_ * m_.layers;
    add("tp all_gather", blocks * (inputs + gradients) * stream * operand);
    add(scatter, blocks * 4 * stream * storage_);  // outputs of wo and w2, input gradients of q k v and of w1 w3
    if (float8_) add("tp all_reduce_max", blocks * 11 * 4);
    add(scatter, micro_batches_ * 2 * stream * storage_);               // embedding; gradient of the head's input
    add("tp all_gather", micro_batches_ * 2 * stream * storage_);       // input of the head; gradient of the embedding
    add("tp all_gather", micro_batches_ * 3 * tokens_ * 4 * mesh_.tp);  // statistics of the loss
  }

  ModelConfig m_;
  Harness::Options o_;
  MeshShape mesh_;
  std::int64_t micro_batches_, tokens_, storage_;
  bool float8_ = false;
  Bytes all_;
};

Bytes traced(const CommTrace& trace) {
  Bytes all;
  for (const CommRecord& r : trace.records()) all[r.group + " " + r.operation] += r.bytes;
  return all;
}

Bytes step(const ModelConfig& model, const Harness::Options& options, MeshShape& mesh) {
  Harness h(model, seq_len, options);
  mesh = h.mesh().shape();
  h.sharded().initialize(1);
  h.communication.clear();
  const std::vector<std::int32_t> tokens(static_cast<std::size_t>(sequences_a_rank * seq_len * h.mesh().dp().size()),
                                         5);
  h.forward_backward(tokens, tokens);
  h.sharded().finish_step(1, 1e-3);
  return traced(h.communication);
}

/// Every combination that fits the ranks of this program.
TEST(CommunicationBytes, AreTheFormulas) {
  const auto stream = cpu_device().make_stream();
  const int ranks = make_mpi_communicator(*stream, "world")->size();
  int cases = 0;
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::float8}) {
    for (const int tp : {1, 2, 4}) {
      for (const int variant : {0, 1, 2, 3, 4}) {
        if (variant == 4 && precision != Precision::float8) continue;
        Harness::Options o;
        o.precision = precision;
        o.tp = tp;
        o.micro_batch = variant == 1 ? 2 : 1;
        o.reshard = variant != 2;
        o.tp_keep_gathered = tp > 1 && variant == 1;
        o.float8.all_gather = variant == 3 ? "false" : "auto";
        o.float8.recipe = variant == 4 ? "rowwise" : "tensorwise";
        o.dp_replicate = variant == 3 ? 2 : 1;
        if (ranks % (tp * o.dp_replicate) != 0) continue;
        for (const bool tied : {false, true}) {
          SCOPED_TRACE(fmt::format("{}, tp {}, variant {}{}", name_of(precision), tp, variant, tied ? ", tied" : ""));
          MeshShape mesh;
          const Bytes found = step(model_of(tied), o, mesh);
          EXPECT_EQ(found, Formula(model_of(tied), o, mesh).bytes());
          ++cases;
        }
      }
    }
  }
  EXPECT_GT(cases, 0);
}

TEST(CommunicationBytes, Float8GathersOneByteWhereBf16GathersTwo) {
  const auto stream = cpu_device().make_stream();
  if (make_mpi_communicator(*stream, "world")->size() == 1) GTEST_SKIP() << "one rank gathers nothing";
  MeshShape mesh;
  Harness::Options o;
  o.precision = Precision::bf16;
  const Bytes half = step(model_of(false), o, mesh);
  o.precision = Precision::float8;
  const Bytes one = step(model_of(false), o, mesh);
  std::int64_t linears = 0;
  for (const ParameterSpec& p : llama_parameters(model_of(false), Precision::float8, {}).parameters) {
    const std::int64_t rows = (p.shape[0] + mesh.dp_shard - 1) / mesh.dp_shard * mesh.dp_shard;
    const std::int64_t times = p.unit == block_unit(model_of(false).layers - 1) ? 1 : 2;
    if (is_float8(p.gathered)) linears += times * sequences_a_rank * rows * p.shape.row_elements();
  }
  EXPECT_EQ(half.at("dp_shard all_gather") - one.at("dp_shard all_gather"), linears);
}

}  // namespace
}  // namespace octet
