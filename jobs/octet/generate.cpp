#include "jobs/evaluate/generate.h"

#include "jobs/evaluate/model_options.h"
#include "jobs/octet/commands.h"
#include "jobs/ranks/cpu_setup.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/device/hardware_queues.h"
#include "src/run_config/options/sections.h"

namespace octet {
namespace {

struct Generation {
  std::string model;
  evaluate::ModelOptions models;
  evaluate::GenerateOptions generate;
  std::int64_t seed = 1234;
  CpuConfig cpu;
  Float8Config float8;

  void declare(Schema& schema) {
    schema.add("model", model).required().help("The model; the same without --model.");
    evaluate::declare_model(schema, models);
    evaluate::declare_control_tokens(schema, models);
    evaluate::declare_generate(schema, generate);
    schema.add("seed", seed).between(0, 1e15).help("Of the tokens that are drawn.");
    evaluate::declare_threads(schema, cpu);
    declare_float8(schema, float8);
  }
};

constexpr std::string_view generate_usage =
    "usage: octet generate MODEL --prompt TEXT [OPTIONS]\n\n"
    "Writes on behind a text, one process on a CPU or a GPU, until the model ends it. The text comes on standard\n"
    "output, on a terminal with control characters spelled out; how fast it came on standard error. MODEL is a\n"
    "checkpoint, a run (its newest whole checkpoint) or a Hugging Face folder of LlamaForCausalLM. Models that are\n"
    "cut: mpiexec -n N octet-evaluate MODEL --tp N --generate.\n\n"
    "  octet generate runs/a --prompt 'Once upon a time'                       the most likely text\n"
    "  octet generate runs/a --prompt-file a.txt --temperature 0.8 --top-p 0.9 --seed 7\n";

/// False after --help.
bool parse(const std::vector<std::string>& words, Generation& g) {
  Schema schema;
  g.declare(schema);
  if (!parse_words(words, generate_usage, schema, "model", 1)) return false;
  g.generate.sampling.seed = static_cast<std::uint64_t>(g.seed);
  evaluate::refuse_drawing(schema, g.generate);
  if (g.models.precision != Precision::float8) evaluate::refuse_float8(schema);
  g.models.float8 = evaluate::float8_given(schema);
  return true;
}

}  // namespace

int run_generate(const std::vector<std::string>& arguments) {
  Generation g;
  if (!parse(arguments, g)) return 0;
  ask_for_hardware_queues();
  log::info("{}", set_up_cpu(g.cpu, 1));
  const auto host_stream = cpu_device().make_stream();
  const auto control = make_self_communicator(*host_stream, "control");
  Device& device = g.models.device == DeviceType::cuda ? cuda_device(0) : cpu_device();
  const auto stream = device.make_stream();
  Mesh mesh(make_self_communicator(*stream, "world"), {});
  evaluate::generate(g.model, g.generate, g.models, {.mesh = mesh, .stream = *stream, .control = *control});
  return 0;
}

}  // namespace octet
