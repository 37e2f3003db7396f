#include "checkpoints/hugging_face/open_together.h"
#include "src/base/log.h"
#include "src/evaluate/model_source.h"
#include "src/train/step/load_masters.h"

namespace octet {

void load_weights(const ModelSource& source, const ParameterList& list, const ShardedBuffer& master, Stream& stream,
                  Communicator& hosts) {
  if (!source.hugging_face) {
    load_masters(list, master, source.directory, source.manifest, stream, &hosts);
    return;
  }
  const checkpoint::HuggingFaceModel from =
      checkpoint::open_together(source.directory, "evaluate", source.directory, hosts);
  for (const std::string& name : from.ignored()) log::info("not needed: {}", name);
  load_masters(list, master, from, stream, hosts);
}

}  // namespace octet
