#include "checkpoints/save/save_job.h"

#include <algorithm>

#include "checkpoints/format/messages.h"
#include "checkpoints/format/shard_file.h"
#include "checkpoints/save/file_wait.h"
#include "src/base/in_background.h"
#include "src/base/seconds_since.h"
#include "src/comm/agreement.h"
#include "src/comm/control_exchange.h"

namespace octet::checkpoint {

std::string cannot_be_saved(std::int64_t step) {
  return fmt::format("step {} cannot be saved", step);
}

std::string SaveOrder::temporary() const {
  return root + "/" + temporary_name(state.step, owner.name);
}

SaveJob::SaveJob(SaveOrder order, std::span<const PieceData> pieces, const std::shared_future<void>& hdf5,
                 Communicator& control)
    : order_(std::move(order)),
      control_(control),
      written_(in_background([hdf5, directory = order_.temporary(), rank = control.rank(), state = order_.state,
                              pieces] { return write_pieces(hdf5, directory, rank, state, pieces); })) {}

/// On the writer's thread.
SaveJob::Written SaveJob::write_pieces(const std::shared_future<void>& hdf5, const std::string& directory, int rank,
                                       const RunState& state, std::span<const PieceData> pieces) {
  if (hdf5.valid()) hdf5.wait();
  if (pieces.empty()) return {};
  const Clock::time_point start = Clock::now();
  const std::string path = directory + "/" + file_name(rank);
  Written written;
  written.file = write_shard_file(path, state, pieces, &written.read_back_seconds);
  written.seconds = seconds_since(start);
  return written;
}

/// A deferred one, for which no thread could be started, runs when its result is asked for.
bool SaveJob::is_written() const {
  return written_.wait_for(std::chrono::seconds(0)) != std::future_status::timeout;
}

std::optional<CommittedSave> SaveJob::advance() {
  if (!report_) {
    if (largest(is_written() ? 0 : 1, control_) == 0) collect();
    return std::nullopt;
  }
  if (largest(manifest_.is_done() ? 0 : 1, control_) != 0) return std::nullopt;
  return commit_manifest();
}

CommittedSave SaveJob::wait() {
  if (!report_) {
    const std::string file = order_.temporary() + "/" + file_name(control_.rank());
    wait_for_files("wait for the checkpoint writer", file, control_, [&] { return is_written(); });
    collect();
  }
  const std::string file = order_.temporary() + "/" + manifest_name;
  wait_for_files("wait for the manifest of a checkpoint", file, control_, [&] { return manifest_.is_done(); });
  return commit_manifest();
}

template <typename Work>
void SaveJob::or_drop(const Work& work) {
  try {
    work();
  } catch (...) {
    over_ = true;
    if (leads()) drop_temporary(order_.temporary());
    throw;
  }
}

/// All writers are done, well or not. Where all did well rank 0 begins the manifest.
void SaveJob::collect() {
  const Clock::time_point start = Clock::now();
  const std::string what = cannot_be_saved(step());
  or_drop([&] {
    Written mine;
    const auto take = [&] {
      if (leads()) order_.owner.check();  // why a file could not be written, where another removed its folder
      mine = written_.get();
    };
    agree("checkpoints", what, failure_of(take), control_);
    SaveReport report;
    std::vector<StoredFile> files;
    Packer packer;
    put(packer, mine.file);
    for (const std::string& bytes : gather_bytes(packer.bytes(), control_)) {
      Unpacker unpacker(bytes);
      files.push_back(take_file(unpacker));
      unpacker.expect_end();
      report.bytes += files.back().bytes;
    }
    report.step = step();
    report.path = order_.root + "/" + directory_name(report.step);
    report.stall_seconds = longest(order_.stall_seconds);
    report.file_seconds = longest(mine.seconds);
    report.read_back_seconds = longest(mine.read_back_seconds);
    together("checkpoints", what, control_, [&] {
      if (leads()) manifest_.start(order_.root, order_.state, order_.plan, std::move(files), order_.owner);
    });
    report.commit_seconds = seconds_since(start);
    report_ = std::move(report);
  });
}

/// The manifest is done, well or not. Where it is well rank 0 commits.
CommittedSave SaveJob::commit_manifest() {
  const Clock::time_point start = Clock::now();
  WrittenManifest done;
  or_drop([&] {
    together("checkpoints", cannot_be_saved(step()), control_, [&] {
      if (!leads()) return;
      done = manifest_.get();
      commit(order_.root, step(), order_.owner);
    });
  });
  over_ = true;
  report_->manifest_seconds = done.seconds;
  report_->write_seconds = seconds_since(write_start_);
  report_->commit_seconds += seconds_since(start);
  return {std::move(*report_), std::move(done.files)};
}

double SaveJob::longest(double seconds) const {
  return 1e-5 * largest(static_cast<std::int32_t>(std::min(seconds, 20'000.0) * 1e5), control_);
}

}  // namespace octet::checkpoint
