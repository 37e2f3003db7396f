#pragma once

#include <string>
#include <vector>

#include "checkpoints/format/format.h"
#include "src/model/config.h"

namespace octet::checkpoint {

/// The model's parameters, by our names and shapes, as fp32.
std::vector<StoredTensor> model_tensors(const ModelConfig& model);

/// The tensors of every TensorKind of every parameter, all fp32, in this order.
std::vector<StoredTensor> training_tensors(const ModelConfig& model);

/// Throws a usage error that names the first tensor in which the checkpoint is not of this model.
void check_model(const std::vector<StoredTensor>& tensors, const ModelConfig& model, const std::string& path);

}  // namespace octet::checkpoint
