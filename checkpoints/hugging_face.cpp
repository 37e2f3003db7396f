#include "checkpoints/hugging_face.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "src/model/parameters.h"

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

/// Reads keys of a config.json with errors that name them.
class ConfigReader {
 public:
  ConfigReader(const Json& json, const std::string& path) : json_(json), path_(path) {}

  bool has(const char* key) const { return json_.contains(key) && !json_[key].is_null(); }
  const Json& at(const char* key) const { return json_[key]; }

  std::int64_t positive(const char* key, std::int64_t most) const {
    if (!has(key)) throw usage_error("checkpoints", "{}: {} is missing", path_, key);
    const Json& value = json_[key];
    if (!value.is_number_integer() || value.get<std::int64_t>() < 1 || value.get<std::int64_t>() > most) {
      throw refuse(key, fmt::format("an integer from 1 to {}", most));
    }
    return value.get<std::int64_t>();
  }
  std::int64_t positive_or(const char* key, std::int64_t most, std::int64_t otherwise) const {
    return has(key) ? positive(key, most) : otherwise;
  }
  double number(const char* key, double otherwise) const {
    if (!has(key)) return otherwise;
    if (!json_[key].is_number()) throw refuse(key, "a number");
    return json_[key].get<double>();
  }
  bool flag(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    if (!json_[key].is_boolean()) throw refuse(key, "true or false");
    return json_[key].get<bool>();
  }
  /// A key with one possible value, which it also has when it is not there.
  void only(const char* key, const Json& value) const {
    if (has(key) && json_[key] != value) throw refuse(key, value.dump());
  }
  Error refuse(const char* key, const std::string& expected) const {
    return usage_error("checkpoints", "{}: {} = {}, expected {}", path_, key, json_[key].dump(), expected);
  }

 private:
  const Json& json_;
  const std::string& path_;
};

/// Under rope_parameters since transformers 5, before that rope_theta, with a scaling of its own.
double rope_theta(const ConfigReader& config, const std::string& path) {
  constexpr double llama_default = 10000.0;  // where a config.json does not say it
  if (config.has("rope_scaling")) throw config.refuse("rope_scaling", "null: scaled RoPE is not known here");
  if (!config.has("rope_parameters")) return config.number("rope_theta", llama_default);
  const std::string where = path + ": rope_parameters";
  const Json& json = config.at("rope_parameters");
  if (!json.is_object()) throw config.refuse("rope_parameters", "an object");
  const ConfigReader parameters(json, where);
  parameters.only("rope_type", "default");
  parameters.only("type", "default");
  return parameters.number("rope_theta", config.number("rope_theta", llama_default));
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

std::vector<StoredTensor> model_tensors(const ModelConfig& model) {
  std::vector<StoredTensor> tensors;
  for (const ParameterSpec& p : llama_parameters(model, Precision::fp32, {}).parameters) {
    tensors.push_back({p.name, DType::f32, p.shape});
  }
  return tensors;
}

std::vector<StoredTensor> training_tensors(const ModelConfig& model) {
  std::vector<StoredTensor> tensors;
  for (const char* kind : {"master/", "first_moment/", "second_moment/"}) {
    for (const StoredTensor& t : model_tensors(model)) tensors.push_back({kind + t.name, t.dtype, t.shape});
  }
  return tensors;
}

void check_model(const std::vector<StoredTensor>& tensors, const ModelConfig& model, const std::string& path) {
  constexpr std::string_view master = "master/";
  std::size_t masters = 0;
  for (const StoredTensor& t : tensors) masters += t.name.starts_with(master);
  const auto expected = model_tensors(model);
  for (const StoredTensor& t : expected) {
    const auto found = std::ranges::find(tensors, std::string(master) + t.name, &StoredTensor::name);
    if (found == tensors.end()) {
      throw usage_error("checkpoints", "{}: has no {}{}, which model {} has", path, master, t.name, model.name);
    }
    if (found->shape != t.shape || found->dtype != t.dtype) {
      throw usage_error("checkpoints", "{}: {} is {} of {}, but model {} expects {} of {}", path, found->name,
                        found->shape.text(), name_of(found->dtype), model.name, t.shape.text(), name_of(t.dtype));
    }
  }
  if (masters != expected.size()) {
    throw usage_error("checkpoints", "{}: has {} parameters, but model {} has {}", path, masters, model.name,
                      expected.size());
  }
}

std::string hugging_face_config(const ModelConfig& model, std::int64_t max_positions, const std::string& dtype) {
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
  json["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", model.rope_theta}};
  json["tie_word_embeddings"] = model.tied_embedding;
  json["hidden_act"] = "silu";
  json["attention_bias"] = false;
  json["mlp_bias"] = false;
  json["attention_dropout"] = 0.0;
  json["initializer_range"] = 0.02;
  json["use_cache"] = true;
  json["bos_token_id"] = nullptr;  // a matter of the tokenizer, which a checkpoint does not hold
  json["eos_token_id"] = nullptr;
  json["torch_dtype"] = dtype;
  return json.dump(2) + "\n";
}

ModelConfig parse_hugging_face_config(const std::string& text, const std::string& path) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    throw usage_error("checkpoints", "{}: is no valid JSON: {}", path, error.what());
  }
  if (!json.is_object()) throw usage_error("checkpoints", "{}: is no JSON object", path);
  const ConfigReader config(json, path);
  if (!config.has("model_type")) throw usage_error("checkpoints", "{}: model_type is missing", path);
  config.only("model_type", "llama");
  config.only("hidden_act", "silu");
  config.only("attention_bias", false);
  config.only("mlp_bias", false);
  // The bounds of model files (docs/configuration.md), which keep every product of these numbers within 63 bits.
  constexpr std::int64_t most_dim = 1 << 20, most_heads = 1 << 16;
  ModelConfig model{.name = path,
                    .dim = config.positive("hidden_size", most_dim),
                    .layers = config.positive("num_hidden_layers", 4096),
                    .heads = config.positive("num_attention_heads", most_heads),
                    .kv_heads = 0,
                    .head_dim = config.positive_or("head_dim", 4096, 0),
                    .ffn_dim = config.positive("intermediate_size", 1 << 24),
                    .vocab_size = config.positive("vocab_size", INT32_MAX),
                    .rope_theta = rope_theta(config, path),
                    .norm_eps = config.number("rms_norm_eps", 1e-6),
                    .tied_embedding = config.flag("tie_word_embeddings", false)};
  model.kv_heads = config.positive_or("num_key_value_heads", most_heads, model.heads);
  model.finish();
  return model;
}

}  // namespace octet::checkpoint
