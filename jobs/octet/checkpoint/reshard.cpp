#include "checkpoints/tools/offline_writer.h"
#include "jobs/octet/checkpoint/tool.h"
#include "jobs/octet/commands.h"
#include "src/base/log.h"
#include "src/base/progress.h"

namespace octet::tool {
namespace {

constexpr std::string_view reshard_usage =
    "usage: octet checkpoint reshard IN OUT --writers N [OPTIONS]\n\n"
    "Copies a checkpoint to the new folder OUT as N writers would have written it, one file each. A run restarts on\n"
    "any layout without this; it is for fewer, larger files, or for ranks that read one file each. IN is verified\n"
    "first, and OUT comes into being whole or not at all. A run finds it in its folder checkpoints under the name\n"
    "step-NNNNNN of its step.\n";

}  // namespace

int run_reshard(const std::vector<std::string>& arguments) {
  std::vector<std::string> paths;
  int writers = 0, threads = 0;
  Schema schema;
  schema.add("checkpoint", paths).required().several().help("A checkpoint, or a run: its newest; and the new folder.");
  schema.add("writers", writers).required().between(1, most_writers).help("Files that the tensors are split over.");
  add_threads(schema, threads);
  if (!parse_words(arguments, reshard_usage, schema, "checkpoint", 2)) return 0;
  if (paths.size() != 2) throw usage_error("octet", "reshard: {} folder given; expected IN and OUT", paths.size());

  OpenCheckpoint in;
  checkpoint::Manifest out;
  while_run_prunes(paths[0], [&] {
    in = open_verified(paths[0], hashing_threads(threads));
    Progress progress("writing", checkpoint::bytes_of(in.manifest.tensors));
    out = checkpoint::reshard(in.directory, in.manifest, paths[1], writers,
                              [&](std::int64_t bytes) { progress.advance(bytes); });
  });
  log::out("{}: step {}, {} in {} file(s), from {} in {}", paths[1], out.state.step, format_bytes(bytes_of(out)),
           out.files.size(), format_bytes(bytes_of(in.manifest)), in.manifest.files.size());
  return 0;
}

}  // namespace octet::tool
