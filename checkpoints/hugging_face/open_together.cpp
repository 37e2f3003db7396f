#include "checkpoints/hugging_face/open_together.h"

#include <optional>
#include <utility>

#include "src/base/error.h"
#include "src/base/read_file.h"
#include "src/comm/agreement.h"
#include "src/comm/read_together.h"

namespace octet::checkpoint {

HuggingFaceModel open_together(const std::string& path, std::string_view room, const std::string& what,
                               Communicator& control) {
  std::optional<HuggingFaceModel> folder;
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
  const auto absent = files::read_together("look at a Hugging Face folder", control, progress,
                                           [&] { files::with_retries(progress, open); });
  if (absent) throw usage_error(room, "{} any more", *absent);
  agree(room, what, failure, control);
  return *std::move(folder);
}

}  // namespace octet::checkpoint
