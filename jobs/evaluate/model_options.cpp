#include "jobs/evaluate/model_options.h"

#include "src/base/error.h"
#include "src/run_config/options/sections.h"

namespace octet::evaluate {

void declare_model(Schema& schema, ModelOptions& m) {
  schema.add_choice("device", m.device).help("Where models compute.");
  schema.add_choice("precision", m.precision)
      .help("What they compute in. float8 is bf16 with 8-bit GEMMs, by the recipe that the model was trained with.");
  schema.add("window", m.window)
      .unit("tokens")
      .between(0, most_sequences)
      .help("Most tokens that a model sees at once. 0: train.seq_len of its run, or max_position_embeddings.");
  schema.add("tokenizer", m.tokenizer)
      .help("Name or file of the tokenizer. Empty: that of the run, or of the Hugging Face folder.");
}

void declare_control_tokens(Schema& schema, ModelOptions& m) {
  schema.add_flag("control-tokens", m.control_tokens)
      .help("Text that spells a control token is that token, and not plain text.");
}

void declare_threads(Schema& schema, CpuConfig& cpu) {
  schema.add("threads", cpu.threads)
      .between(0, 4096)
      .help(
          "OpenMP threads of each rank. 0: OMP_NUM_THREADS if it is set, else the cores of the node divided by its "
          "ranks.");
}

void declare_generate(Schema& schema, GenerateOptions& g) {
  schema.add("prompt", g.prompt).help("The text that the model continues.");
  schema.add("prompt-file", g.prompt_file).help("A file with that text, which is read as it is.");
  schema.add("tokens", g.tokens)
      .unit("tokens")
      .between(1, most_sequences)
      .help("Most tokens to generate; fewer if the text or the window ends before.");
  schema.add("temperature", g.sampling.temperature)
      .between(0, 1000)
      .help("Logits are divided by it before a token is drawn. 0: always the most likely token.");
  schema.add("top-p", g.sampling.top_p)
      .above(0)
      .at_most(1)
      .help("Only the most likely tokens that have this much of the probability between them are drawn.");
}

void refuse_drawing(Schema& schema, const GenerateOptions& g) {
  for (const char* name : {"top-p", "seed"}) {
    if (g.sampling.temperature > 0 || !schema.find(name)->is_set()) continue;
    throw usage_error("evaluate", "--{} changes nothing here: without --temperature no token is drawn", name);
  }
}

Float8Options float8_given(Schema& schema) {
  Float8Options given;
  for (const Option& option : schema.options()) {
    if (option.section() == "float8" && option.is_set()) given.emplace_back(option.name(), option.text());
  }
  return given;
}

void refuse_float8(Schema& schema) {
  for (const auto& [name, value] : float8_given(schema)) {
    throw usage_error("evaluate", "--{} changes nothing here: it is for --precision float8", name);
  }
}

}  // namespace octet::evaluate
