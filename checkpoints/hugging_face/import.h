#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoints/format/manifest.h"
#include "checkpoints/hugging_face/safetensors.h"
#include "checkpoints/tools/offline_writer.h"
#include "src/base/read_file.h"
#include "src/model/config.h"

namespace octet::checkpoint {

/// A Hugging Face directory of LlamaForCausalLM with weights as safetensors: config.json and either model.safetensors,
/// or model.safetensors.index.json with the files that it names.
class HuggingFaceModel {
 public:
  /// Reads config.json and every header. Throws a usage error that names the file for another architecture, and for a
  /// tensor that is missing, of another shape, not of floating point, or no part of the model; also for a head that is
  /// not the embedding where config.json says that they are tied, which transformers would not tie: both are read then.
  /// Throws files::ReadError where the file system does not give one of the files, or does not say whether it is there;
  /// a file that is not there is a usage error.
  explicit HuggingFaceModel(const std::string& directory);

  const ModelConfig& model() const { return model_; }
  /// Names of tensors that are not needed: RoPE frequencies of old exports, the head of a model with a tied embedding.
  const std::vector<std::string>& ignored() const { return ignored_; }
  /// What config.json asks for and Octet does not do (config_warnings).
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// "FILE: tensor NAME" of a parameter, by our name, for messages.
  std::string place(const std::string& parameter) const;
  /// Rows of a parameter, by our name, as fp32: exact from F32, BF16 and F16.
  void read_rows(const std::string& parameter, std::int64_t first_row, std::int64_t rows, float* to) const;
  /// A rectangle of a parameter, dense and row-major, likewise; takes 16 MiB, or a row, beside it. Throws ReadError.
  void read_box(const std::string& parameter, const Box& box, float* to, files::ReadProgress& progress) const;

 private:
  struct Place {
    const SafetensorsReader* file = nullptr;
    const SafetensorsEntry* entry = nullptr;
  };
  void open_files(const std::string& directory);
  void find_parameters(const std::string& directory);
  void expect_tied(const Place& head) const;

  ModelConfig model_;
  std::vector<SafetensorsReader> files_;
  std::map<std::string, Place> by_name_;     ///< Hugging Face's names
  std::map<std::string, Place> parameters_;  ///< our names
  std::vector<std::string> ignored_;
  std::vector<std::string> warnings_;
};

/// Writes a checkpoint with these weights, zero moments and the given state, with the files of `writers` writers;
/// committed as write_checkpoint does; `beside` are plain files of it, such as files_beside of the folder. Usage error
/// that names the tensor where a weight is NaN or infinite.
Manifest import_hugging_face(const HuggingFaceModel& from, const std::string& to, const RunState& state, int writers,
                             const ByteProgress& progress = nullptr, const std::vector<PlainFile>& beside = {});

}  // namespace octet::checkpoint
