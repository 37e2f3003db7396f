// config.json, and the small files beside the weights: what an export says there and an import takes or refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "checkpoints/hugging_face/hugging_face.h"
#include "tests/checkpoints/directory.h"
#include "tests/checkpoints/small_checkpoint.h"
#include "tests/support/expect_has.h"

namespace octet::checkpoint {
namespace {

using nlohmann::json;
using test::error_of;
using test::error_or_none;

/// rope_scaling of Llama 3.1's config.json.
json llama31() {
  return {{"factor", 8.0},
          {"low_freq_factor", 1.0},
          {"high_freq_factor", 4.0},
          {"original_max_position_embeddings", 8192},
          {"rope_type", "llama3"}};
}

TEST(HuggingFaceConfig, ConfigGoesRound) {
  const ModelConfig model = test::small_model(true);
  const std::string text = hugging_face_config(model, 8192, "bfloat16");
  ModelConfig back = parse_hugging_face_config(text, "x");
  back.name = model.name;
  EXPECT_EQ(back.head_dim, 6);
  EXPECT_EQ(back.max_positions, 8192);
  EXPECT_EQ(hugging_face_config(back, 8192, "bfloat16"), text);
  EXPECT_TRUE(json::parse(text).at("eos_token_id").is_null());
  const json with = json::parse(hugging_face_config(back, 8192, "bfloat16", {.bos = {}, .eos = {128001}}));
  EXPECT_TRUE(with.at("bos_token_id").is_null());
  EXPECT_EQ(with.at("eos_token_id"), 128001);
  EXPECT_EQ(json::parse(text)["max_position_embeddings"], 8192);
  for (const char* key : {"dtype", "torch_dtype"}) EXPECT_EQ(json::parse(text)[key], "bfloat16") << key;
}

TEST(HuggingFaceConfig, Llama31sScalingOfRopeGoesRound) {
  ModelConfig model = test::small_model();
  model.rope_scaling = {.kind = RopeScalingKind::llama3,
                        .factor = 32,
                        .low_freq_factor = 1,
                        .high_freq_factor = 4,
                        .original_positions = 8192};
  json config = json::parse(hugging_face_config(model, 131072, "float32"));
  EXPECT_EQ(config["rope_scaling"], config["rope_parameters"]);
  EXPECT_TRUE(config["rope_scaling"]["factor"].is_number_float());  // transformers refuses an integer
  const auto read = [&] { return parse_hugging_face_config(config.dump(), "x"); };
  EXPECT_EQ(read().rope_scaling, model.rope_scaling);
  EXPECT_EQ(read().rope_theta, model.rope_theta);
  config.erase("rope_parameters");  // as transformers 4 has it
  config["rope_scaling"] = llama31();
  EXPECT_EQ(read().rope_scaling.factor, 8);
  EXPECT_EQ(read().rope_theta, model.rope_theta);
  // What the top says is what transformers takes.
  config["original_max_position_embeddings"] = 4096;
  EXPECT_HAS(error_of([&] { read(); }), "original_max_position_embeddings is 4096; expected 8192, as its keys of RoPE");
  config["rope_scaling"].erase("original_max_position_embeddings");
  EXPECT_EQ(read().rope_scaling.original_positions, 4096);
}

TEST(HuggingFaceConfig, ConfigDefaults) {
  const json minimal = {{"model_type", "llama"},    {"hidden_size", 64},        {"num_hidden_layers", 2},
                        {"num_attention_heads", 4}, {"intermediate_size", 128}, {"vocab_size", 100}};
  const ModelConfig m = parse_hugging_face_config(minimal.dump(), "x");
  EXPECT_EQ(m.kv_heads, 4);
  EXPECT_EQ(m.head_dim, 16);
  EXPECT_EQ(m.rope_theta, 10000);
  EXPECT_EQ(m.norm_eps, 1e-6);
  EXPECT_FALSE(m.tied_embedding);
  EXPECT_EQ(m.max_positions, 0);
}

/// As transformers has it, where a key that is null counts as absent.
TEST(HuggingFaceConfig, EmbeddingsThatAreTiedByNullAreNotTied) {
  json config = json::parse(hugging_face_config(test::small_model(true), 32, "float32"));
  EXPECT_TRUE(parse_hugging_face_config(config.dump(), "x").tied_embedding);
  config["tie_word_embeddings"] = nullptr;
  EXPECT_FALSE(parse_hugging_face_config(config.dump(), "x").tied_embedding);
}

TEST(HuggingFaceConfig, WhatATrainingDoesWithoutIsTold) {
  const auto warnings = [](const json& config) { return config_warnings(config.dump(), "the/config.json"); };
  EXPECT_TRUE(warnings({{"attention_dropout", 0.0}, {"auto_map", nullptr}}).empty());
  const auto told = warnings({{"attention_dropout", 0.1}, {"auto_map", {{"AutoModelForCausalLM", "modeling.Own"}}}});
  ASSERT_EQ(told.size(), 2u);
  EXPECT_HAS(told[0], "the/config.json: attention_dropout is 0.1: Octet has no dropout");
  EXPECT_HAS(told[1], "the/config.json: auto_map names code of the model's own, which Octet does not run");
}

TEST(HuggingFaceConfig, FilesBesideTheWeightsSayWhatIsKnownAndNothingElse) {
  const json generation = json::parse(hugging_face_generation_config({.bos = {}, .eos = {128001}, .pad = 4}));
  EXPECT_EQ(generation, json({{"_from_model_config", true}, {"eos_token_id", 128001}, {"pad_token_id", 4}}));
  const json tokenizer = json::parse(hugging_face_tokenizer_config("<s>", std::nullopt, 64));
  EXPECT_EQ(tokenizer.at("bos_token"), "<s>");
  EXPECT_FALSE(tokenizer.contains("eos_token"));
  EXPECT_EQ(tokenizer.at("model_max_length"), 64);
}

TEST(HuggingFaceConfig, ConfigsOfOtherModelsAreRefusedByKey) {
  const json good = json::parse(hugging_face_config(test::small_model(), 32, "float32"));
  const auto with = [&](const std::string& key, const json& value) {
    json config = good;
    config[key] = value;
    return config.dump();
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "no valid JSON"},
      {"[1]", "is [1]; expected an object"},
      {"{}", "model_type is missing"},
      {with("model_type", "mistral"), "model_type is \"mistral\"; expected \"llama\""},
      {with("architectures", {"LlamaForSequenceClassification"}),
       "architectures is [\"LlamaForSequenceClassification\"]; expected [\"LlamaForCausalLM\"]"},
      {with("quantization_config", {{"quant_method", "fp8"}}), "quantization_config is {\"quant_method\":\"fp8\"}"},
      {with("max_position_embeddings", 0), "max_position_embeddings is 0"},
      {with("hidden_act", "gelu"), "hidden_act is \"gelu\""},
      {with("attention_bias", true), "attention_bias is true"},
      {with("mlp_bias", true), "mlp_bias is true"},
      {with("sliding_window", 4096), "sliding_window is 4096"},
      {with("rope_scaling", {{"rope_type", "llama3"}, {"factor", 8.0}}), "rope_scaling.low_freq_factor is missing"},
      {with("rope_scaling", llama31()), "expected what rope_parameters says"},
      {with("rope_parameters", {{"rope_type", "default"}, {"rope_theta", 500.0}}),
       "rope_parameters.rope_theta is 500.0; expected "},
      {with("rope_parameters", {{"rope_type", "yarn"}}), "rope_type is \"yarn\"; expected \"default\" or \"llama3\""},
      {with("rope_parameters", {{"full_attention", {{"rope_type", "default"}, {"rope_theta", 500.0}}}}),
       "rope_parameters.full_attention is {\"rope_theta\":500.0,\"rope_type\":\"default\"}; expected a number or a "
       "text"},
      {with("hidden_size", nullptr), "hidden_size is null"},
      {with("hidden_size", 20.5), "hidden_size is 20.5"},
      {with("hidden_size", -1), "hidden_size is -1"},
      {with("num_hidden_layers", 100000), "an integer of 1 to 4096"},
      {with("num_key_value_heads", 3), "kv_heads = 3"},
      {with("rms_norm_eps", "small"), "rms_norm_eps is \"small\""},
      {with("tie_word_embeddings", 1), "tie_word_embeddings is 1"},
  };
  for (const auto& [config, expected] : cases) {
    SCOPED_TRACE(config);
    const std::string message = error_of([&config = config] { parse_hugging_face_config(config, "the/config.json"); });
    EXPECT_HAS(message, "the/config.json");
    EXPECT_HAS(message, expected);
  }
}

TEST(HuggingFaceConfig, KeysOfRelativesAreRefusedUnlessTheyChangeNothing) {
  const json good = json::parse(hugging_face_config(test::small_model(), 32, "float32"));
  const double width = static_cast<double>(test::small_model().head_dim), scale = 1 / std::sqrt(width);
  const auto refusal = [&](const std::string& key, const json& value) {
    json config = good;
    config[json::json_pointer(key)] = value;
    return error_or_none([&] { parse_hugging_face_config(config.dump(), "the/config.json"); });
  };
  struct Row {
    std::string key;
    json neutral, other;
    std::string message;
  };
  const std::vector<Row> rows = {
      {"/partial_rotary_factor", 1.0, 0.5, "the/config.json: partial_rotary_factor is 0.5; expected 1"},
      {"/rope_parameters/partial_rotary_factor", 1, 0.5, "rope_parameters.partial_rotary_factor is 0.5; expected 1"},
      {"/attn_logit_softcapping", nullptr, 50.0, "attn_logit_softcapping is 50.0; expected null"},
      {"/final_logit_softcapping", nullptr, 30.0, "final_logit_softcapping is 30.0; expected null"},
      {"/use_qk_norm", false, true, "use_qk_norm is true; expected false"},
      {"/residual_multiplier", 1.0, 0.22, "residual_multiplier is 0.22; expected 1"},
      {"/embedding_multiplier", 1, 12, "embedding_multiplier is 12; expected 1"},
      {"/logits_scaling", 1.0, 8.0, "logits_scaling is 8.0; expected 1"},
      {"/attention_multiplier", scale, 1.0, "attention_multiplier is 1.0; expected "},
      {"/query_pre_attn_scalar", width, 2 * width, "which head_dim gives"},
      {"/no_rope_layers", {1, 1}, {1, 0}, "no_rope_layers[1] is 0; expected 1"},
      {"/layer_types",
       {"full_attention", "full_attention"},
       {"full_attention", "sliding_attention"},
       "layer_types[1] is \"sliding_attention\"; expected \"full_attention\""},
  };
  for (const auto& [key, neutral, other, message] : rows) {
    SCOPED_TRACE(key);
    EXPECT_EQ(refusal(key, neutral), "");
    EXPECT_EQ(refusal(key, nullptr), "");
    EXPECT_HAS(refusal(key, other), message);
  }
  EXPECT_EQ(refusal("/a_key_that_nobody_knows", 0.5), "");
}

}  // namespace
}  // namespace octet::checkpoint
