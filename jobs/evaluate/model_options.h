#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/base/options/schema.h"
#include "src/evaluate/sampling.h"
#include "src/run_config/run_config.h"

namespace octet::evaluate {

/// A text that the model is to write.
struct GenerateOptions {
  std::string prompt;
  std::string prompt_file;  ///< in place of it
  std::int64_t tokens = 128;
  Sampling sampling{};
};

/// Options of the section float8 that are given, by name, as text: they go onto what a model was trained with.
using Float8Options = std::vector<std::pair<std::string, std::string>>;

/// How models compute and on what.
struct ModelOptions {
  DeviceType device = DeviceType::cpu;
  Precision precision = Precision::bf16;
  Float8Options float8{};
  std::int64_t tp = 1;
  std::int64_t window = 0;      ///< 0: the model's own
  std::int64_t row_tokens = 0;  ///< 0: as suits device and window
  std::string tokenizer{};      ///< empty: the model's own
  bool control_tokens = false;
};

// Options that octet-evaluate and octet generate share.

/// Where and in what a model computes, and what it sees.
void declare_model(Schema& schema, ModelOptions& options);
void declare_control_tokens(Schema& schema, ModelOptions& options);
void declare_threads(Schema& schema, CpuConfig& cpu);
/// What is generated, without the seed.
void declare_generate(Schema& schema, GenerateOptions& options);

/// The usage error for options of drawing, where the most likely token is taken.
void refuse_drawing(Schema& schema, const GenerateOptions& options);

/// What is given of the section float8; and the usage error for it where nothing computes in float8.
Float8Options float8_given(Schema& schema);
void refuse_float8(Schema& schema);

}  // namespace octet::evaluate
