#include "checkpoints/format/view.h"

#include "jobs/octet/checkpoint/tool.h"
#include "jobs/octet/commands.h"
#include "src/base/log.h"

namespace octet::tool {
namespace {

constexpr std::string_view view_usage =
    "usage: octet checkpoint view CHECKPOINT\n\n"
    "Writes view.h5 into the checkpoint's folder, unless one is there and fits: every tensor whole, for h5py and\n"
    "HDFView. It refers to the other files and is no part of the checkpoint: for looking, never for restoring.\n";

}  // namespace

int run_view(const std::vector<std::string>& arguments) {
  std::string path;
  Schema schema;
  schema.add("checkpoint", path).required().help("Folder of a checkpoint, or of a run: its newest.");
  if (!parse_words(arguments, view_usage, schema, "checkpoint", 1)) return 0;
  const std::string directory = checkpoint_at(path);
  const bool written = checkpoint::ensure_view(directory);
  log::out("{}/{}{}", directory, checkpoint::view_name, written ? "" : " was there");
  return 0;
}

}  // namespace octet::tool
