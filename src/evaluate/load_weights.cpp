#include <optional>

#include "checkpoints/hugging_face/import.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/read_file.h"
#include "src/comm/agreement.h"
#include "src/comm/read_together.h"
#include "src/evaluate/model_source.h"
#include "src/train/step/load_masters.h"

namespace octet {
namespace {

/// Every rank reads the headers for itself; where one cannot, all end together, as a run that begins with such weights.
checkpoint::HuggingFaceModel open_folder(const std::string& path, Communicator& hosts) {
  std::optional<checkpoint::HuggingFaceModel> folder;
  std::optional<Failure> failure;
  files::ReadProgress progress;
  const auto open = [&] {
    try {
      folder.emplace(path);
    } catch (const files::ReadError&) {
      throw;
    } catch (const Error& error) {
      failure = Failure{error.code(), error.what()};
    } catch (const std::exception& error) {
      failure = Failure{ExitCode::internal, error.what()};
    }
  };
  const auto absent = files::read_together("look at a Hugging Face folder", hosts, progress,
                                           [&] { files::with_retries(progress, open); });
  if (absent) throw usage_error("evaluate", "{} any more", *absent);
  agree("evaluate", path, failure, hosts);
  return *std::move(folder);
}

}  // namespace

void load_weights(const ModelSource& source, const ParameterList& list, const ShardedBuffer& master, Stream& stream,
                  Communicator& hosts) {
  if (!source.hugging_face) {
    load_masters(list, master, source.directory, source.manifest, stream, &hosts);
    return;
  }
  const checkpoint::HuggingFaceModel from = open_folder(source.directory, hosts);
  for (const std::string& name : from.ignored()) log::info("not needed: {}", name);
  load_masters(list, master, from, stream, hosts);
}

}  // namespace octet
