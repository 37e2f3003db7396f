#include "src/train/start/initial_weights.h"

#include <chrono>
#include <exception>
#include <functional>
#include <optional>

#include "checkpoints/hugging_face/open_together.h"
#include "checkpoints/restore/restore.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/read_file.h"
#include "src/base/seconds_since.h"
#include "src/comm/control_exchange.h"
#include "src/comm/packing.h"
#include "src/train/start/initial_weights_check.h"
#include "src/train/step/load_masters.h"

namespace octet {
namespace {

std::optional<TokenizerIdentity> tokenizer_of_data(const RunConfig& config) {
  const std::string& text = config.data.history.tokenizer;
  if (text.empty()) return std::nullopt;
  return read_tokenizer_identity(text, "the tokenizer of the data");
}

/// Rank 0 looks, and all ranks get its result or its failure: all of them act on what rank 0 sees in the file system.
std::string look_for_all(const std::string& from, Communicator& control, const std::function<std::string()>& look) {
  Packer packer;
  if (control.rank() == 0) {
    std::string seen;
    auto code = ExitCode::finished;
    try {
      files::ReadProgress nobody_waits;
      files::with_retries(nobody_waits, [&] { seen = look(); });
    } catch (const Error& error) {
      code = error.code();
      seen = error.what();
    } catch (const std::exception& error) {
      const Error internal = internal_error("train", "init.from = {}: {}", from, error.what());
      code = internal.code();
      seen = internal.what();
    }
    packer.put(code, seen);
  }
  const std::string bytes = broadcast_bytes(packer.bytes(), 0, control);
  Unpacker unpacker(bytes);
  const auto code = unpacker.take<ExitCode>();
  std::string seen = unpacker.take_text();
  unpacker.expect_end();
  if (code != ExitCode::finished) throw Error(code, seen, true);
  return seen;
}

/// Every rank reads the headers for itself; where one cannot, all end together. Returns what they are, for the log.
std::string load_folder(const std::string& from, const RankContext& context, ShardedModel& model) {
  Communicator& control = context.control;
  const auto folder = checkpoint::open_together(from, "train", fmt::format("init.from = {}", from), control);
  for (const std::string& name : folder.ignored()) log::info("not needed: {}", name);
  Staging staging(context.stream);
  load_masters(model.parameters(), model.master(), folder, staging, control, Weights::finite);
  return fmt::format("of the Hugging Face folder {}", from);
}

/// Of a run the newest whole checkpoint, which may be an older one than `looked_at`. Returns as load_folder.
std::string load_checkpoint(const RunConfig& config, const std::string& looked_at, const RankContext& context,
                            ShardedModel& model) {
  const std::string& from = config.init.from;
  Communicator& control = context.control;
  const auto found = checkpoint::find_checkpoint(from, control);
  if (!found) throw usage_error("train", "init.from = {}: its checkpoints are gone", from);
  if (found->directory != looked_at) {
    look_for_all(from, control, [&] {
      check_weights_of_checkpoint(config, tokenizer_of_data(config), found->directory, found->manifest);
      return found->directory;
    });
  }
  Staging staging(context.stream);
  CheckpointSource source{found->directory, found->manifest, &control};
  load_masters(model.parameters(), model.master(), source, staging, Weights::finite);
  return fmt::format("of {}, step {}", found->directory, found->manifest.state.step);
}

}  // namespace

void load_initial_weights(const RunConfig& config, const RankContext& context, Trainer& trainer) {
  const std::string& from = config.init.from;
  if (from.empty()) return;
  const auto start = std::chrono::steady_clock::now();
  const std::string looked_at =
      look_for_all(from, context.control, [&] { return look_at_initial_weights(config, tokenizer_of_data(config)); });
  const std::string what = looked_at.empty() ? load_folder(from, context, trainer.model())
                                             : load_checkpoint(config, looked_at, context, trainer.model());
  if (looked_at.empty() && context.control.rank() == 0) warn_of_unknown_tokenizer(config);
  trainer.model().weights_changed();
  context.control.barrier();  // no rank begins a step, with its shorter deadline, while another still reads
  log::info("initial weights: those {}, read in {:.2f} s; the moments are zero, and the run begins at step 0", what,
            seconds_since(start));
}

}  // namespace octet
