#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoints/hugging_face/hugging_face_files.h"
#include "src/model/config.h"

namespace octet::checkpoint {

// What Hugging Face calls the parts of a Llama model. Its linears have our shapes ([out, in]), and its RoPE rotates the
// pairs (i, i + head_dim / 2) as ours does (kernels/rope.h), so that every tensor goes over as it is. Meta's own files
// pair (2i, 2i + 1) instead; Hugging Face's converter permutes q and k of those.

/// "layers.3.attention.wq.weight" -> "model.layers.3.self_attn.q_proj.weight". Throws internal_error for a name that is
/// no parameter of Llama.
std::string hugging_face_name(const std::string& parameter);

/// config.json for LlamaForCausalLM. `dtype` as PyTorch names it; `max_positions` in tokens; null for an id that is not
/// known.
std::string hugging_face_config(const ModelConfig& model, std::int64_t max_positions, const std::string& dtype,
                                const SpecialIds& ids = {});

/// generation_config.json: the ids of config.json, of which those that are not known are left out.
std::string hugging_face_generation_config(const SpecialIds& ids);

/// tokenizer_config.json beside a tokenizer.json, for AutoTokenizer of transformers: which of the file's tokens begin
/// and end a text. Whether the first is put before every text, tokenizer.json itself says.
std::string hugging_face_tokenizer_config(const std::optional<std::string>& bos, const std::optional<std::string>& eos,
                                          std::int64_t max_positions);

/// The model of a config.json, with its max_position_embeddings. Throws a usage error that names `path`, the key and
/// what was expected for what is no Llama, or computes something that we do not (other activations, biases, sliding
/// windows, another scaling of RoPE than llama3, keys of checkpoints/hugging_face/relatives.h), and for weights that
/// are quantized.
ModelConfig parse_hugging_face_config(const std::string& json, const std::string& path);

/// What such a config.json, which was read, asks for and Octet does not do: dropout, code of the model's own.
std::vector<std::string> config_warnings(const std::string& json, const std::string& path);

}  // namespace octet::checkpoint
