#include "checkpoints/format/model_tensors.h"

#include <algorithm>

#include "checkpoints/format/names.h"
#include "src/base/error.h"
#include "src/model/parameters.h"

namespace octet::checkpoint {

std::vector<StoredTensor> model_tensors(const ModelConfig& model) {
  std::vector<StoredTensor> tensors;
  for (const ParameterSpec& p : llama_parameters(model, Precision::fp32, {}).parameters) {
    tensors.push_back({p.name, DType::f32, p.shape});
  }
  return tensors;
}

std::vector<StoredTensor> training_tensors(const ModelConfig& model) {
  std::vector<StoredTensor> tensors;
  for (const TensorKind kind : tensor_kinds) {
    for (const StoredTensor& t : model_tensors(model)) tensors.push_back({stored_name(kind, t.name), t.dtype, t.shape});
  }
  return tensors;
}

void check_model(const std::vector<StoredTensor>& tensors, const ModelConfig& model, const std::string& path) {
  std::size_t masters = 0;
  for (const StoredTensor& t : tensors) masters += parameter_of(TensorKind::master, t.name).has_value();
  const auto expected = model_tensors(model);
  for (const StoredTensor& t : expected) {
    const std::string name = stored_name(TensorKind::master, t.name);
    const auto found = std::ranges::find(tensors, name, &StoredTensor::name);
    if (found == tensors.end()) {
      throw usage_error("checkpoints", "{}: has no {}, which model {} has", path, name, model.name);
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

}  // namespace octet::checkpoint
