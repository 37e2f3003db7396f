#include "checkpoints/hugging_face/relatives.h"

#include <array>
#include <cmath>
#include <string_view>

namespace octet::checkpoint {
namespace {

struct NeutralValue {
  const char* key;
  const char* value;  ///< as JSON; null and a key that is not there are as good
};

constexpr std::array neutral_values = {
    NeutralValue{"partial_rotary_factor", "1"},       // Phi, StableLM, Nemotron
    NeutralValue{"rotary_pct", "1"},                  // GPT-NeoX
    NeutralValue{"rope_interleaved", "false"},        // pairs (2i, 2i + 1)
    NeutralValue{"no_rope_layer_interval", "0"},      // SmolLM3
    NeutralValue{"attn_logit_softcapping", "null"},   // Gemma 2
    NeutralValue{"final_logit_softcapping", "null"},  // Gemma 2
    NeutralValue{"use_qk_norm", "false"},             // Llama 4, Cohere
    NeutralValue{"qk_norm", "false"},
    NeutralValue{"attn_temperature_tuning", "false"},  // Llama 4
    NeutralValue{"attention_chunk_size", "null"},      // Llama 4
    NeutralValue{"clip_qkv", "null"},                  // OLMo
    NeutralValue{"qkv_bias", "false"},
    NeutralValue{"use_bias", "false"},
    NeutralValue{"embedding_multiplier", "1"},      // Granite
    NeutralValue{"residual_multiplier", "1"},       // Granite
    NeutralValue{"logits_scaling", "1"},            // Granite
    NeutralValue{"logit_scale", "1"},               // Cohere
    NeutralValue{"scale_emb", "1"},                 // MiniCPM
    NeutralValue{"hidden_activation", "\"silu\""},  // Gemma
};

/// 1 and 1.0 are the same number.
bool is(const JsonReader& value, const std::string& json) {
  const std::string shown = value.shown();
  return shown == json || shown == json + ".0";
}

void expect_neutral(const JsonReader& config, const NeutralValue& expected) {
  if (!config.has(expected.key) || is(config.at(expected.key), expected.value)) return;
  throw config.at(expected.key).refuse(expected.value);
}

void expect_number(const JsonReader& config, const char* key, double value) {
  constexpr double rounding = 1e-6;
  if (!config.has(key) || std::abs(config.number(key) - value) <= rounding * value) return;
  throw config.at(key).refuse(fmt::format("{:.9g}, which head_dim gives", value));
}

/// One value for each block.
void expect_all(const JsonReader& config, const char* key, const char* value) {
  if (!config.has(key)) return;
  for (const JsonReader& of_block : config.at(key).elements()) {
    if (!is(of_block, value)) throw of_block.refuse(value);
  }
}

}  // namespace

void refuse_relatives(const JsonReader& config, std::int64_t head_dim) {
  for (const NeutralValue& expected : neutral_values) expect_neutral(config, expected);
  for (const char* rope : {"rope_parameters", "rope_scaling"}) {
    if (config.has(rope)) expect_neutral(config.at(rope), neutral_values.front());
  }
  expect_all(config, "no_rope_layers", "1");  // SmolLM3, Llama 4: 1 for a block that has RoPE
  expect_all(config, "layer_types", "\"full_attention\"");
  const auto width = static_cast<double>(head_dim);
  expect_number(config, "attention_multiplier", 1 / std::sqrt(width));  // Granite: scores are multiplied by it
  expect_number(config, "query_pre_attn_scalar", width);                // Gemma 2: they are divided by its root
}

}  // namespace octet::checkpoint
