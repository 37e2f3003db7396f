#include <algorithm>
#include <iostream>

#include "jobs/octet/checkpoint/tool.h"
#include "jobs/octet/commands.h"
#include "src/base/log.h"
#include "src/base/printable.h"
#include "src/base/progress.h"

namespace octet::tool {
namespace {

constexpr std::string_view show_usage =
    "usage: octet checkpoint show CHECKPOINT [--config]\n\n"
    "Prints what a checkpoint's manifest says: the state of the run, the layout that wrote it, tensors with dtype,\n"
    "shape and the number of pieces that they are stored in, and files. The files themselves are not read.\n";

void print_state(const OpenCheckpoint& c) {
  const checkpoint::RunState& state = c.manifest.state;
  log::out("checkpoint   {}", c.directory);
  log::out("step         {}", state.step);
  log::out("loss         {}", loss_text(state, 6));
  log::out("seed         {}", state.seed);
  log::out("data         fingerprint {:016x}", state.data_fingerprint);
  log::out("layout       {}", readable(state.layout));
  log::out("written by   {}, format {}", readable(state.program), c.manifest.version);
  log::out("committed    {} UTC", time_of(c.directory));
  log::out("size         {} in {} file(s)", format_bytes(bytes_of(c.manifest)), c.manifest.files.size());
}

void print_tensors(const checkpoint::Manifest& manifest) {
  std::vector<int> pieces(manifest.tensors.size());
  for (const checkpoint::StoredPiece& piece : manifest.pieces) ++pieces[static_cast<std::size_t>(piece.tensor)];
  std::size_t width = 0;
  for (const checkpoint::StoredTensor& t : manifest.tensors) width = std::max(width, t.name.size());
  log::out("tensors      {}", manifest.tensors.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const checkpoint::StoredTensor& t = manifest.tensors[i];
    log::out("  {:<{}}  {:<4}  {:<16}  {} piece(s)", t.name, width, name_of(t.dtype), t.shape.text(), pieces[i]);
  }
}

void print_files(const checkpoint::Manifest& manifest) {
  log::out("files        XXH3-128");
  for (const checkpoint::StoredFile& file : manifest.files) {
    log::out("  {}  {}  {:>14} bytes", file.name, file.hash, file.bytes);
  }
}

}  // namespace

int run_show(const std::vector<std::string>& arguments) {
  std::string path;
  bool config = false;
  Schema schema;
  schema.add("checkpoint", path).required().help("Folder of a checkpoint, or of a run: its newest.");
  schema.add_flag("config", config)
      .help(
          "Print the stored configuration instead, as YAML and no more; on a terminal control characters are spelled "
          "out.");
  if (!parse_words(arguments, show_usage, schema, "checkpoint", 1)) return 0;

  OpenCheckpoint checkpoint{checkpoint_at(path), {}};
  checkpoint.manifest = checkpoint::read_manifest(checkpoint.directory);
  if (config) {
    std::cout << printable_on_terminal(checkpoint.manifest.state.config) << std::flush;
    return 0;
  }
  print_state(checkpoint);
  print_tensors(checkpoint.manifest);
  print_files(checkpoint.manifest);
  return 0;
}

}  // namespace octet::tool
