#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoints/hugging_face/hugging_face_files.h"
#include "checkpoints/hugging_face/weight_type.h"
#include "checkpoints/restore/file_parts.h"
#include "checkpoints/tools/offline_writer.h"
#include "src/model/config.h"

namespace octet::checkpoint {

struct ExportOptions {
  ModelConfig model;                             ///< of the checkpoint; its tensors are checked against it
  std::int64_t max_positions = 0;                ///< tokens, for config.json
  WeightType type = WeightType::fp32;            ///< fp32: the master weights to the bit; else rounded to nearest even
  std::int64_t max_shard_bytes = 5'000'000'000;  ///< of data a file; a larger tensor has a file of its own
  std::string program;                           ///< version, noted in the files
  SpecialIds ids{};                              ///< for config.json
  std::vector<PlainFile> beside{};               ///< that go there too: the tokenizer's
};

struct ExportReport {
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;  ///< of data
  int files = 0;           ///< of safetensors
  SmallWeights small{};    ///< of fp16
};

/// Writes the master weights of a verified checkpoint, or the mean of several of one model (MeanReader), as a Hugging
/// Face directory of LlamaForCausalLM: config.json, model-00001-of-0000N.safetensors and
/// model.safetensors.index.json, and what goes beside them. It comes into being whole or not at all. One thread of the
/// process calls it (HDF5). Usage error when `to` exists or its path is wrong, a model is another, or a weight
/// is NaN, infinite, or beyond what fp16 holds; internal_error when there is no room or the disk refuses.
ExportReport export_hugging_face(const std::vector<WholeCheckpoint>& from, const std::string& to,
                                 const ExportOptions& options, const ByteProgress& progress = nullptr);

}  // namespace octet::checkpoint
