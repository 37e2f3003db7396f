// What a run reads: its file and its model's, and choices of a GPU's libraries.
#include "kernels/algorithm_choices.h"
#include "src/base/options/yaml.h"
#include "src/run_config/options/model_file.h"
#include "src/run_config/options/run_options.h"
#include "tests/fuzz/fuzz.h"

namespace octet::fuzz {
namespace {

void read_run_file(const std::string& text) {
  RunConfig config;
  Schema schema;
  declare_options(schema, config);
  read_yaml_text(schema, text, "input.yaml");
}

/// As a checkpoint's configuration of another version is read.
void read_stored(const std::string& text) {
  RunConfig config;
  Schema schema;
  declare_stored_options(schema, config);
  std::vector<std::string> unknown;
  read_yaml_known(schema, text, "input.yaml", unknown);
}

/// Choices that are taken stay the same written down and read again.
void read_choices(AlgorithmKind kind, const std::string& text) {
  const AlgorithmChoices choices = parse_algorithm_choices(kind, text, "input");
  expect_same(text_of(choices), text_of(parse_algorithm_choices(kind, text_of(choices), "written")));
}

std::string choices_with(AlgorithmKind kind, std::uint64_t version, const std::string& algorithm) {
  return text_of({.platform = {kind, version, "NVIDIA H100 80GB HBM3"},
                  .by_problem = {{"m 4096 n 4096 k 4096", {algorithm, 12.5}}, {"m 16 n 16 k 16", {algorithm, 1.25}}}});
}

}  // namespace

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      {"run", read_run_file, files({"configs/runs/english-5m.yaml", "configs/runs/llama-405b.yaml"})},
      {"stored-run", read_stored, files({"configs/runs/llama-8b.yaml"})},
      {"model", [](const std::string& text) { read_model(put("input.yaml", text)); },
       files({"configs/models/8b.yaml"})},
      {"gemm-plans", [](const std::string& text) { read_choices(AlgorithmKind::gemm, text); },
       [] { return std::vector{choices_with(AlgorithmKind::gemm, 130100, "1 2 3 4 5 6 7 a")}; }},
      {"attention-plans", [](const std::string& text) { read_choices(AlgorithmKind::attention, text); },
       [] { return std::vector{choices_with(AlgorithmKind::attention, 91500, "eng10_k24=0")}; }},
  };
  return all;
}

}  // namespace octet::fuzz
