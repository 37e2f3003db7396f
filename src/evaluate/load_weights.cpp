#include "checkpoints/hugging_face/open_together.h"
#include "src/base/log.h"
#include "src/evaluate/model_source.h"
#include "src/train/step/load_masters.h"

namespace octet {

void load_weights(const ModelSource& source, ForwardModel& model, Stream& stream, Communicator& control) {
  Staging staging(stream);
  if (!source.hugging_face) {
    CheckpointSource from{source.directory, source.manifest, &control};
    model.load(
        [&](const ParameterList& unit, const ShardedBuffer& masters) { load_masters(unit, masters, from, staging); });
    return;
  }
  const checkpoint::HuggingFaceModel from =
      checkpoint::open_together(source.directory, "evaluate", source.directory, control);
  for (const std::string& name : from.ignored()) log::info("not needed: {}", name);
  model.load([&](const ParameterList& unit, const ShardedBuffer& masters) {
    load_masters(unit, masters, from, staging, control);
  });
}

}  // namespace octet
