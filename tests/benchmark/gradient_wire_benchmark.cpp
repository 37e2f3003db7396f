// What rounding gradients to bf16 on the wire does to them, on a model that trains on the bytes of a file:
//   mpiexec -n RANKS octet-benchmark-gradient-wire FILE [STEPS]
// The model 5m in bf16, 2,048 tokens a step over all ranks (2, 4 or 8) in sequences of 256, a micro-batch a rank.
// Before training and after STEPS (default 50) steps the gradients of one batch are computed with both wires from the
// same weights. Printed: ‖bf16 - fp32‖₂ / ‖fp32‖₂ over all parameters and of the worst one; and bytes, as the
// communicator's trace counts them.
#include <cmath>
#include <fstream>
#include <iterator>

#include "src/base/random.h"
#include "src/comm/mpi/mpi_runtime.h"
#include "src/run_config/options/model_file.h"
#include "tests/equivalence/harness.h"

namespace octet {
namespace {

constexpr std::int64_t seq_len = 256, sequences = 8;

struct Batch {
  std::vector<std::int32_t> tokens, targets;
};

Batch batch_of(const std::vector<std::int32_t>& text, std::uint64_t step) {
  Batch batch;
  for (std::uint64_t s = 0; s < sequences; ++s) {
    const auto begin = static_cast<std::int64_t>(random_bits({.seed = 1}, step * sequences + s) %
                                                 (text.size() - static_cast<std::size_t>(seq_len) - 1));
    batch.tokens.insert(batch.tokens.end(), text.begin() + begin, text.begin() + begin + seq_len);
    batch.targets.insert(batch.targets.end(), text.begin() + begin + 1, text.begin() + begin + seq_len + 1);
  }
  return batch;
}

struct Difference {
  double difference = 0, norm = 0;
  double relative() const { return std::sqrt(difference / norm); }
};

void compare(Harness& wide, Harness& narrow, const Batch& batch, std::int64_t step) {
  ShardedModel &a = wide.sharded(), &b = narrow.sharded();
  std::copy_n(a.master().all(), a.master().layout().elements(), b.master().all());
  b.weights_changed();
  const double loss = wide.forward_backward(batch.tokens, batch.targets);
  narrow.forward_backward(batch.tokens, batch.targets);
  Difference all, worst{0, 1};
  std::string worst_name;
  for (const ParameterSpec& p : a.parameters().parameters) {
    const auto x = wide.whole(a.gradients(), p.name), y = narrow.whole(b.gradients(), p.name);
    Difference d;
    for (std::size_t i = 0; i < x.size(); ++i) {
      d.difference += std::pow(double{y[i]} - double{x[i]}, 2);
      d.norm += std::pow(double{x[i]}, 2);
    }
    all.difference += d.difference;
    all.norm += d.norm;
    if (d.relative() > worst.relative()) {
      worst = d;
      worst_name = p.name;
    }
  }
  if (wide.mesh().world().rank() != 0) return;
  fmt::print("ranks {}, after {} steps: loss {:.3f}, error {:.2e}, worst {:.2e} in {}\n", wide.mesh().world().size(),
             step, loss, all.relative(), worst.relative(), worst_name);
}

/// Collective.
void compare_wires(const std::string& path, std::int64_t steps) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<unsigned char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (static_cast<std::int64_t>(bytes.size()) < 2 * seq_len) throw usage_error("benchmark", "{}: too short", path);
  const std::vector<std::int32_t> text(bytes.begin(), bytes.end());
  const ModelConfig model = read_model(OCTET_SOURCE_DIR "/configs/models/5m.yaml");
  Harness::Options options;
  options.precision = Precision::bf16;
  const auto stream = cpu_device().make_stream();
  options.micro_batch = sequences / make_mpi_communicator(*stream, "world")->size();  // one a rank: one rounding
  Harness wide(model, seq_len, options);
  options.gradient_wire = DType::bf16;
  Harness narrow(model, seq_len, options);
  wide.sharded().initialize(1);
  compare(wide, narrow, batch_of(text, 0), 0);
  for (std::int64_t step = 1; step <= steps; ++step) {
    const Batch batch = batch_of(text, static_cast<std::uint64_t>(step));
    wide.forward_backward(batch.tokens, batch.targets);
    wide.sharded().finish_step(step, 1e-3);
  }
  wide.communication.clear();
  narrow.communication.clear();
  compare(wide, narrow, batch_of(text, 0), steps);
  if (wide.mesh().world().rank() != 0) return;
  fmt::print("bytes of a step: reduce-scatter of fp32 {}, all-to-all of bf16 {}\n",
             wide.communication.bytes("reduce_scatter"), narrow.communication.bytes("all_to_all"));
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  return octet::run_main(argc, argv, [](octet::MpiRuntime&, int count, char** words) {
    if (count < 2) throw octet::usage_error("benchmark", "octet-benchmark-gradient-wire FILE [STEPS]");
    octet::compare_wires(words[1], count > 2 ? std::stoll(words[2]) : 50);
    return 0;
  });
}
