#include "checkpoints/hugging_face/hugging_face.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "checkpoints/hugging_face/relatives.h"
#include "src/base/error.h"
#include "src/base/json_reader.h"

namespace octet::checkpoint {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::pair<std::string_view, std::string_view>;

constexpr std::array<Names, 3> outside_blocks = {{
    {"tok_embeddings.weight", "model.embed_tokens.weight"},
    {"norm.weight", "model.norm.weight"},
    {"output.weight", "lm_head.weight"},
}};
constexpr std::array<Names, 9> in_blocks = {{
    {"attention_norm.weight", "input_layernorm.weight"},
    {"ffn_norm.weight", "post_attention_layernorm.weight"},
    {"attention.wq.weight", "self_attn.q_proj.weight"},
    {"attention.wk.weight", "self_attn.k_proj.weight"},
    {"attention.wv.weight", "self_attn.v_proj.weight"},
    {"attention.wo.weight", "self_attn.o_proj.weight"},
    {"feed_forward.w1.weight", "mlp.gate_proj.weight"},
    {"feed_forward.w3.weight", "mlp.up_proj.weight"},
    {"feed_forward.w2.weight", "mlp.down_proj.weight"},
}};

constexpr double llama_rope_theta = 10000.0;  // where a config.json does not say it

double number_or(const JsonReader& json, const char* key, double otherwise) {
  return json.has(key) ? json.number(key) : otherwise;
}

std::int64_t integer_or(const JsonReader& json, const char* key, std::int64_t most, std::int64_t otherwise) {
  return json.has(key) ? json.integer(key, 1, most) : otherwise;
}

/// A key with one possible value, which it also has when it is not there.
void expect_only(const JsonReader& json, const char* key, const std::string& value) {
  if (json.has(key) && json.at(key).shown() != value) throw json.at(key).refuse(value);
}

struct RotaryEmbedding {
  double theta = llama_rope_theta;
  RopeScaling scaling{};

  bool operator==(const RotaryEmbedding&) const = default;
};

/// Some files say it beside the other keys of RoPE, some at the top, where transformers looks first.
std::int64_t original_positions(const JsonReader& of, const JsonReader& config) {
  const char* const key = "original_max_position_embeddings";
  if (!config.has(key)) return of.integer(key, 1, INT32_MAX);
  const std::int64_t at_top = config.integer(key, 1, INT32_MAX);
  if (of.has(key) && of.integer(key, 1, INT32_MAX) != at_top) {
    throw config.at(key).refuse(fmt::format("{}, as its keys of RoPE have it", of.at(key).shown()));
  }
  return at_top;
}

/// Of rope_parameters or rope_scaling, in which older files say "type" for "rope_type". llama3 has no defaults.
RotaryEmbedding rotary_embedding(const JsonReader& of, const JsonReader& config, double theta) {
  for (const auto& [layer_type, value] : of.members()) {
    if (value.shown().starts_with('{')) throw value.refuse("a number or a text, as all blocks have one RoPE");
  }
  RotaryEmbedding rope{.theta = number_or(of, "rope_theta", theta)};
  if (config.has("rope_theta") && rope.theta != theta) {
    throw of.at("rope_theta").refuse(fmt::format("{}, as rope_theta has it", config.at("rope_theta").shown()));
  }
  const char* key = of.has("rope_type") ? "rope_type" : "type";
  const std::string type = of.has(key) ? of.text(key) : "default";
  if (type == "default") return rope;
  if (type != "llama3") throw of.at(key).refuse("\"default\" or \"llama3\"");
  rope.scaling = {.kind = RopeScalingKind::llama3,
                  .factor = of.number("factor"),
                  .low_freq_factor = of.number("low_freq_factor"),
                  .high_freq_factor = of.number("high_freq_factor"),
                  .original_positions = original_positions(of, config)};
  return rope;
}

/// Under rope_parameters since transformers 5; before that rope_theta, with rope_scaling beside it. Files that say both
/// have to say the same.
RotaryEmbedding rotary_embedding(const JsonReader& config) {
  const double theta = number_or(config, "rope_theta", llama_rope_theta);
  const bool older = config.has("rope_scaling"), newer = config.has("rope_parameters");
  if (!older && !newer) return {.theta = theta};
  const RotaryEmbedding rope = rotary_embedding(config.at(newer ? "rope_parameters" : "rope_scaling"), config, theta);
  if (older && newer && rotary_embedding(config.at("rope_scaling"), config, theta) != rope) {
    throw config.at("rope_scaling").refuse("what rope_parameters says");
  }
  return rope;
}

/// What rope_parameters and rope_scaling say.
Json rope_json(const ModelConfig& model) {
  const RopeScaling& scaling = model.rope_scaling;
  if (scaling.kind == RopeScalingKind::none) return {{"rope_type", "default"}, {"rope_theta", model.rope_theta}};
  return {{"rope_type", name_of(scaling.kind)},
          {"rope_theta", model.rope_theta},
          {"factor", scaling.factor},
          {"low_freq_factor", scaling.low_freq_factor},
          {"high_freq_factor", scaling.high_freq_factor},
          {"original_max_position_embeddings", scaling.original_positions}};
}

/// null, one id, or a list of several.
Json ids_json(const std::vector<std::int64_t>& ids) {
  if (ids.empty()) return nullptr;
  return ids.size() == 1 ? Json(ids.front()) : Json(ids);
}

}  // namespace

std::string hugging_face_name(const std::string& parameter) {
  const auto named = [](const auto& table, std::string_view name) {
    const auto found = std::ranges::find(table, name, &Names::first);
    return found == table.end() ? std::string() : std::string(found->second);
  };
  constexpr std::string_view layers = "layers.";
  std::string name = named(outside_blocks, parameter);
  const auto dot = parameter.find('.', layers.size());
  if (parameter.starts_with(layers) && dot != std::string::npos) {
    const std::string inside = named(in_blocks, std::string_view(parameter).substr(dot + 1));
    if (!inside.empty()) name = "model." + parameter.substr(0, dot + 1) + inside;
  }
  if (name.empty()) throw internal_error("checkpoints", "{} is no parameter of Llama", parameter);
  return name;
}

std::string hugging_face_config(const ModelConfig& model, std::int64_t max_positions, const std::string& dtype,
                                const SpecialIds& ids) {
  Json json;
  json["architectures"] = {"LlamaForCausalLM"};
  json["model_type"] = "llama";
  json["hidden_size"] = model.dim;
  json["num_hidden_layers"] = model.layers;
  json["num_attention_heads"] = model.heads;
  json["num_key_value_heads"] = model.kv_heads;
  json["head_dim"] = model.head_dim;
  json["intermediate_size"] = model.ffn_dim;
  json["vocab_size"] = model.vocab_size;
  json["max_position_embeddings"] = max_positions;
  json["rms_norm_eps"] = model.norm_eps;
  json["rope_theta"] = model.rope_theta;  // transformers 4
  json["rope_parameters"] = rope_json(model);
  if (model.rope_scaling.kind != RopeScalingKind::none) json["rope_scaling"] = rope_json(model);  // transformers 4
  json["tie_word_embeddings"] = model.tied_embedding;
  json["hidden_act"] = "silu";
  json["attention_bias"] = false;
  json["mlp_bias"] = false;
  json["attention_dropout"] = 0.0;
  json["initializer_range"] = 0.02;
  json["use_cache"] = true;
  json["bos_token_id"] = ids_json(ids.bos);
  json["eos_token_id"] = ids_json(ids.eos);
  if (ids.pad) json["pad_token_id"] = *ids.pad;
  json["dtype"] = dtype;
  json["torch_dtype"] = dtype;  // transformers 4
  return json.dump(2) + "\n";
}

std::string hugging_face_generation_config(const SpecialIds& ids) {
  Json json = {{"_from_model_config", true}};
  if (!ids.bos.empty()) json["bos_token_id"] = ids_json(ids.bos);
  if (!ids.eos.empty()) json["eos_token_id"] = ids_json(ids.eos);
  if (ids.pad) json["pad_token_id"] = *ids.pad;
  return json.dump(2) + "\n";
}

std::string hugging_face_tokenizer_config(const std::optional<std::string>& bos, const std::optional<std::string>& eos,
                                          std::int64_t max_positions) {
  Json json = {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"model_max_length", max_positions}};
  if (bos) json["bos_token"] = *bos;
  if (eos) json["eos_token"] = *eos;
  json["clean_up_tokenization_spaces"] = false;
  return json.dump(2) + "\n";
}

ModelConfig parse_hugging_face_config(const std::string& text, const std::string& path) {
  const auto json = parse_json(text, "checkpoints", path, "the configuration of a model");
  const JsonReader config(json, "checkpoints", path);
  if (config.text("model_type") != "llama") throw config.at("model_type").refuse("\"llama\"");
  expect_only(config, "architectures", "[\"LlamaForCausalLM\"]");
  expect_only(config, "hidden_act", "\"silu\"");
  expect_only(config, "attention_bias", "false");
  expect_only(config, "mlp_bias", "false");
  if (config.has("quantization_config")) {
    throw config.at("quantization_config").refuse("null: weights in F32, BF16 or F16");
  }
  if (config.has("sliding_window")) throw config.at("sliding_window").refuse("null: attention is over all of a text");
  // The bounds of model files (docs/configuration.md), which keep every product of these numbers within 63 bits.
  const RotaryEmbedding rope = rotary_embedding(config);
  constexpr std::int64_t most_dim = 1 << 20, most_heads = 1 << 16;
  ModelConfig model{.name = path,
                    .dim = config.integer("hidden_size", 1, most_dim),
                    .layers = config.integer("num_hidden_layers", 1, 4096),
                    .heads = config.integer("num_attention_heads", 1, most_heads),
                    .kv_heads = 0,
                    .head_dim = integer_or(config, "head_dim", 4096, 0),
                    .ffn_dim = config.integer("intermediate_size", 1, 1 << 24),
                    .vocab_size = config.integer("vocab_size", 1, INT32_MAX),
                    .rope_theta = rope.theta,
                    .rope_scaling = rope.scaling,
                    .norm_eps = number_or(config, "rms_norm_eps", 1e-6),
                    .tied_embedding = config.has("tie_word_embeddings") && config.boolean("tie_word_embeddings"),
                    .max_positions = integer_or(config, "max_position_embeddings", 1 << 30, 0)};
  model.kv_heads = integer_or(config, "num_key_value_heads", most_heads, model.heads);
  model.finish();
  refuse_relatives(config, model.head_dim);
  return model;
}

std::vector<std::string> config_warnings(const std::string& text, const std::string& path) {
  constexpr const char* dropout = "attention_dropout";
  const auto json = parse_json(text, "checkpoints", path, "the configuration of a model");
  const JsonReader config(json, "checkpoints", path);
  std::vector<std::string> warnings;
  if (config.has(dropout) && config.at(dropout).shown() != "0.0" && config.at(dropout).shown() != "0") {
    warnings.push_back(fmt::format("{} is {}: Octet has no dropout and trains without it", config.at(dropout).where(),
                                   config.at(dropout).shown()));
  }
  if (config.has("auto_map")) {
    warnings.push_back(
        fmt::format("{} names code of the model's own, which Octet does not run: the weights are taken "
                    "for those of transformers' LlamaForCausalLM",
                    config.at("auto_map").where()));
  }
  return warnings;
}

}  // namespace octet::checkpoint
