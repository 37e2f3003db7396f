#include "src/parallel/pipeline/tied_embedding.h"

#include "src/base/error.h"

namespace octet {

TiedEmbedding::TiedEmbedding(const ParameterList& list, bool tied, ShardedBuffer& gradients, Communicator& pipeline,
                             Stream& stream)
    : gradients_(gradients), pipeline_(pipeline), stream_(stream) {
  const bool at_an_end = pipeline.rank() == 0 || pipeline.rank() == pipeline.size() - 1;
  if (!tied || pipeline.size() == 1 || !at_an_end) return;
  parameter_ = 0;  // units stand in forward order, and the embedding is the first
  const std::int64_t elements = gradients.layout().shard(0).padded_elements();
  other_ = TensorBuffer(stream.device(), DType::f32, {elements}, Purpose::communication);
  if (list.parameters.front().id != 0) {
    throw internal_error("parallel", "an end of the pipeline begins with {}, not with the tied embedding",
                         list.parameters.front().name);
  }
}

void TiedEmbedding::sum() {
  if (!parameter_) return;
  const int peer = pipeline_.rank() == 0 ? pipeline_.size() - 1 : 0;
  float* mine = gradients_.data(*parameter_);
  float* theirs = other_.view().as<float>();
  const std::int64_t n = other_.view().elements();
  pipeline_.group_begin();
  pipeline_.send(mine, n, DType::f32, peer);
  pipeline_.recv(theirs, n, DType::f32, peer);
  pipeline_.group_end();
  // The same bits on both ends: a + b is b + a.
  kernels_of(stream_).accumulate(stream_, {.x = theirs, .y = mine, .n = n});
}

}  // namespace octet
