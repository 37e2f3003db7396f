#include "src/run_config/options/sections.h"

#include "src/ops/recipes/recipe_list.h"

namespace octet {

void declare_float8(Schema& schema, Float8Config& c) {
  schema.section("float8", "Details of `precision: float8`; without effect in the other precisions.");
  schema.add_choice("recipe", c.recipe, float8_recipe_names()).help("How scales are chosen. " + float8_recipe_help());
  schema.add("delayed_history", c.delayed_history)
      .unit("steps")
      .between(1, 1 << 20)
      .help("Recipe delayed: absolute maxima that are remembered of each tensor.");
  schema.add("delayed_margin", c.delayed_margin)
      .unit("powers of two")
      .between(0, 16)
      .help("Recipe delayed: how far below the format's maximum the largest remembered value is put.");
  schema.add_choice("delayed_algorithm", c.delayed_algorithm)
      .help("Recipe delayed: which of the remembered maxima gives the scale.");
  schema.add_choice("all_gather", c.all_gather)
      .help(
          "true: cast weights on the owning shard and gather 8-bit bytes. false: gather bf16 and cast afterwards. "
          "auto: true for the recipes that allow it, those of one scale a tensor, else false.");
  schema.add_choice("keep_transposed_weights", c.keep_transposed_weights)
      .help(
          "On a GPU the 8-bit GEMMs of the backward pass read weights transposed. true: the transposed copies, one "
          "byte a weight, are kept from the first micro-batch to the optimizer step. false: they are made again in "
          "every micro-batch. Only for recipes of one scale a tensor, and for weights that stay gathered after forward "
          "(zero 1 or 2). auto: true if the memory plan has room.");
  schema.add_choice("round_scales_to_power_of_two", c.round_scales_to_power_of_two)
      .help(
          "Round scales down to a power of two, so that multiplying by them rounds nothing. auto: true for the rowwise "
          "recipes, as torchao has it, and for blockwise, as TransformerEngine has it, false for the others.");
  schema.add_choice("fast_accumulate", c.fast_accumulate)
      .help(
          "Which 8-bit GEMMs a GPU's tensor cores sum with fast accumulation, which never promotes a sum to fp32. "
          "forward: the forward pass, as torchao and TransformerEngine have it. all: those of the gradients too, which "
          "was 3 to 7 % faster for them on an H100; what it does to learning stands in docs/parity. On a CPU it needs "
          "accumulate hopper.");
  schema.add_choice("accumulate", c.accumulate)
      .help(
          "How the CPU sums the products of 8-bit GEMMs. fp32. hopper: as an H100's tensor cores do, with 13 fraction "
          "bits; with fast accumulation where fast_accumulate says so, the others promoted to fp32 every 128 products, "
          "as a run on the GPU has it. hopper_fast, hopper_slow: all three GEMMs fast, or all promoted. With device "
          "cuda the GPU's own way is the only one: fp32, the default.");
  schema.add("bf16_linears", c.bf16_linears)
      .help(
          "Linears that stay in bf16, by any part of their weights' names (attention.wq, feed_forward.w2, layers.3., "
          "...; layers.1 without a dot behind it is also layers.10).");
  schema.add("bf16_first_layers", c.bf16_first_layers)
      .unit("blocks")
      .at_least(0)
      .help("Blocks at the model's beginning whose linears stay in bf16.");
  schema.add("bf16_last_layers", c.bf16_last_layers)
      .unit("blocks")
      .at_least(0)
      .help("Blocks at the model's end whose linears stay in bf16.");
  schema.add("filter_small_kn", c.filter_small_kn)
      .help(
          "Linears that are too small to gain from 8 bits stay in bf16, as torchao's auto_filter_small_kn decides it "
          "for an H100 from outputs N and inputs K of the whole model's weight. tensorwise: N <= 1024 and K <= 4096.");
}

void declare_recompute(Schema& schema, RecomputeConfig& c) {
  schema.section("recompute",
                 "Activations that are made again before backward instead of kept from forward: less memory for more "
                 "work, and the same bits. The log shows at start what a choice costs; MFU does not count the work.");
  schema.add_choice("mode", c.mode)
      .help(
          "none: everything is kept. full: a block keeps its input alone. selective: it keeps what preset or keep "
          "says.");
  schema.add_choice("preset", c.preset)
      .help(
          "For selective, what is made again. elementwise: outputs of the norms, SwiGLU's product and, in float8, the "
          "cast of the attention output; no GEMM. ffn: gate and up too, most of the bytes. linears: everything but the "
          "attention output.");
  schema.add("keep", c.keep)
      .help(
          "For selective, in place of a preset, what is kept: any of attention_input, q, k, v, attention_output, "
          "attention_cast (float8), residual (after attention), ffn_input, gate, up, ffn_product.");
  schema.add("every", c.every)
      .unit("blocks")
      .between(1, 1e6)
      .help("Recompute in every N-th block only; the others keep everything.");
}

}  // namespace octet
