#include "checkpoints/saver.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <thread>

#include "checkpoints/agreement.h"
#include "checkpoints/commit.h"
#include "checkpoints/durable.h"
#include "checkpoints/pruner.h"
#include "checkpoints/restore.h"
#include "checkpoints/save_plan.h"
#include "checkpoints/shard_file.h"
#include "checkpoints/snapshot.h"
#include "checkpoints/view.h"
#include "src/base/log.h"
#include "src/base/seconds_since.h"
#include "src/comm/host_exchange.h"
#include "src/comm/watchdog.h"

namespace octet::checkpoint {
namespace {

using Clock = std::chrono::steady_clock;

/// What the writer's thread returns.
struct Written {
  StoredFile file;
  double seconds = 0;
};

/// A deferred one, for which no thread could be started, runs when its result is asked for.
bool is_ready(const std::future<Written>& future) {
  return future.wait_for(std::chrono::seconds(0)) != std::future_status::timeout;
}

/// For people, and no part of the checkpoint: that it cannot be made is no failure.
void make_view(const std::string& directory, const Owner& owner) {
  try {
    owner.check();
    ensure_view(directory);
  } catch (const std::exception& error) {
    log::warning("{} (the checkpoint is whole without its view.h5)", error.what());
  }
}

/// On the writer's thread. `before` is what calls HDF5 until then, if anything does.
Written write_pieces(const std::shared_future<void>& before, const std::string& directory, int rank,
                     const RunState& state, std::span<const PieceData> pieces) {
  if (before.valid()) before.wait();
  if (pieces.empty()) return {};
  const Clock::time_point start = Clock::now();
  const std::string path = directory + "/" + file_name(rank);
  StoredFile written = write_shard_file(path, state, pieces);
  return {std::move(written), seconds_since(start)};
}

}  // namespace

struct Saver::Impl {
  /// A save that is under way.
  struct Job {
    RunState state;
    Clock::time_point write_start;
    double stall_seconds;
    std::future<Written> written;
    std::optional<SaveReport> report =
        {};  ///< once all ranks have written: what is known of it; rank 0 makes the manifest
  };

  SaverOptions options;
  Communicator& world;
  Stream& stream;
  WriterGroup group;
  std::string description;  ///< of the pieces that `plan` is for
  std::shared_ptr<const SavePlan> plan = std::make_shared<SavePlan>();
  Snapshot snapshot;
  std::optional<Job> job;
  std::deque<SaveReport> reports;  ///< committed, not told yet
  BackgroundManifest manifest;     ///< rank 0
  std::shared_future<void> view;   ///< rank 0: of the last committed one, on a thread of its own
  Pruner pruner;

  Impl(SaverOptions with, Communicator& ranks, Stream& on)
      : options(std::move(with)),
        world(ranks),
        stream(on),
        group(make_writer_group(options.writers_per_node, world)),
        snapshot(group.ranks.get()),
        pruner({.root = options.root,
                .keep_last = options.keep_last,
                .keep_every = options.keep_every,
                .owner = options.owner},
               options.known, world) {}

  bool leads() const { return world.rank() == 0; }

  /// The plan stays while no rank's pieces change; only then it is worth an exchange.
  void make_plan(std::span<const DevicePiece> pieces) {
    std::string now = describe_pieces(pieces);
    if (largest(now == description ? 0 : 1, world) == 0) return;
    description.clear();
    plan = std::make_shared<const SavePlan>(plan_save(gather_bytes(now, world), world.rank(), group.writer));
    description = std::move(now);
  }

  /// Collective in itself, but of one opinion in each group, so that all ranks get to the agreement.
  void reserve(const std::string& what) {
    agree(what, failure_of([&] { snapshot.reserve(*plan, world.rank(), stream); }), world);
  }

  /// Of the checkpoints that are there, those that make room for newer ones.
  std::int64_t that_will_go() const {
    return std::ranges::count_if(list_checkpoints(options.root), [&](const std::string& path) {
      return options.keep_every == 0 || *step_of(path) % options.keep_every != 0;
    });
  }

  /// A run should not learn at its first save, or at its fourth, that the disk is too small.
  void warn_of_lack_of_space() const {
    try {
      const std::string lack =
          lack_of_space(options.root, free_bytes(options.root), plan->bytes, options.keep_last, that_will_go());
      if (!lack.empty()) log::warning("{}; make room, or let the run keep fewer, before a save fails", lack);
    } catch (const Error& error) {
      log::warning("{}", error.what());
    }
  }

  void take_snapshot(const std::string& what, const std::string& temporary, std::span<const DevicePiece> pieces) {
    try {
      reserve(what);
      together(what, world, [&] { snapshot.take(pieces, *plan, world.rank(), stream); });
    } catch (...) {
      drop(temporary);
      throw;
    }
  }

  /// Best effort, while an error is on its way.
  void drop(const std::string& temporary) const noexcept {
    if (!leads()) return;
    try {
      remove_tree(temporary);
    } catch (const std::exception& error) {
      log::warning("{} (an unfinished checkpoint stays there until the next start)", error.what());
    }
  }

  /// Names what is waited for, so that the watchdog can end a wait for storage that hangs.
  void wait_until(const char* what, const std::function<bool()>& is_done) const {
    const OperationScope operation(what);
    while (!is_done()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      operation.check_deadline();
    }
  }

  std::string what(const RunState& state) const { return fmt::format("step {} cannot be saved", state.step); }
  std::string temporary(const RunState& state) const {
    return options.root + "/" + temporary_name(state.step, options.owner.name);
  }

  /// What ends the job of all ranks where it throws, which it does on all.
  template <typename Work>
  void or_drop(const Work& work) {
    try {
      work();
    } catch (...) {
      const std::string left = temporary(job->state);
      job.reset();
      drop(left);
      throw;
    }
  }

  /// All writers are done, well or not. Where all did well rank 0 begins the manifest.
  void collect() {
    const Clock::time_point start = Clock::now();
    or_drop([&] {
      Written mine;
      const auto take = [&] {
        if (leads()) options.owner.check();  // why a file could not be written, where another removed its folder
        mine = job->written.get();
      };
      agree(what(job->state), failure_of(take), world);
      SaveReport report;
      std::vector<StoredFile> files;
      for (const std::string& bytes : gather_bytes(pack(mine.file), world)) {
        files.push_back(unpack_file(bytes));
        report.bytes += files.back().bytes;
      }
      report.step = job->state.step;
      report.path = options.root + "/" + directory_name(report.step);
      report.stall_seconds = longest(job->stall_seconds);
      report.file_seconds = longest(mine.seconds);
      together(what(job->state), world, [&] {
        if (leads()) manifest.start(options.root, job->state, plan, std::move(files), options.owner);
      });
      report.commit_seconds = seconds_since(start);
      job->report = report;
    });
  }

  /// The manifest is done, well or not. Where it is well rank 0 commits.
  void conclude() {
    const Clock::time_point start = Clock::now();
    WrittenManifest done;
    or_drop([&] {
      together(what(job->state), world, [&] {
        if (!leads()) return;
        done = manifest.get();
        commit(options.root, job->state.step, options.owner);
      });
    });
    SaveReport report = std::move(*job->report);
    report.manifest_seconds = done.seconds;
    report.write_seconds = seconds_since(job->write_start);
    job.reset();
    start_view(report.path);
    pruner.committed(report.step, std::move(done.files));
    report.commit_seconds += seconds_since(start);
    reports.push_back(std::move(report));
  }

  /// What can be done of a save without waiting.
  void advance() {
    if (!job->report && largest(is_ready(job->written) ? 0 : 1, world) == 0) return collect();
    if (job->report && largest(manifest.is_done() ? 0 : 1, world) == 0) conclude();
  }

  /// Of all ranks. In units of 10 microseconds: what ranks agree on are integers.
  double longest(double seconds) const {
    return 1e-5 * largest(static_cast<std::int32_t>(std::min(seconds, 20'000.0) * 1e5), world);
  }

  /// One thread at a time calls HDF5: this begins when all is written, and the next write waits for it.
  void start_view(const std::string& directory) {
    if (!leads()) return;
    try {
      view = std::async(std::launch::async, make_view, directory, options.owner).share();
    } catch (const std::exception& error) {
      log::warning("{}: no thread for its view.h5: {}", directory, error.what());
    }
  }
  void wait_for_view() const {
    const OperationScope operation("wait for the view of a checkpoint");
    if (view.valid()) view.wait();
  }

  std::optional<SaveReport> next_report() {
    if (reports.empty()) return std::nullopt;
    SaveReport report = std::move(reports.front());
    reports.pop_front();
    return report;
  }
};

Saver::Saver(SaverOptions options, Communicator& world, Stream& stream)
    : impl_(std::make_unique<Impl>(std::move(options), world, stream)) {
  together("checkpoints cannot be written", world, [&] {
    if (!impl_->leads()) return;
    make_directories(impl_->options.root);
    const int removed = remove_leftovers(impl_->options.root, impl_->options.owner);
    if (removed > 0) log::info("{}: removed {} unfinished checkpoint(s)", impl_->options.root, removed);
  });
}

Saver::~Saver() {
  // Left by an exception: what is being written stays a leftover, which the next start removes.
  const OperationScope operation("wait for the checkpoint writer");
  impl_.reset();
}

void Saver::prepare(std::span<const DevicePiece> pieces) {
  Impl& self = *impl_;
  if (busy()) {
    throw internal_error("checkpoints", "prepare while the checkpoint of step {} is being written",
                         self.job->state.step);
  }
  self.make_plan(pieces);
  self.reserve("checkpoints cannot be taken");
  if (self.leads()) self.warn_of_lack_of_space();
}

void Saver::start(const RunState& state, std::span<const DevicePiece> pieces, bool last) {
  Impl& self = *impl_;
  if (busy()) {
    if (self.leads()) {
      log::warning("checkpoint of step {} waits: the one of step {} is still being written", state.step,
                   self.job->state.step);
    }
    wait();
  }
  const Clock::time_point start = Clock::now();
  self.make_plan(pieces);
  const std::string what = self.what(state), temporary = self.temporary(state);
  together(what, self.world, [&] {
    if (!self.leads()) return;
    check_free_space(self.options.root, self.plan->bytes, last ? 0 : space_reserve);
    make_temporary(self.options.root, state.step, self.options.owner);
  });
  self.take_snapshot(what, temporary, pieces);
  const Clock::time_point end = Clock::now();
  self.job = Impl::Job{state, end, std::chrono::duration<double>(end - start).count(),
                       std::async(std::launch::async | std::launch::deferred, write_pieces, self.view, temporary,
                                  self.world.rank(), state, self.snapshot.pieces())};
}

std::optional<SaveReport> Saver::poll() {
  Impl& self = *impl_;
  self.pruner.poll();
  if (busy()) self.advance();
  return self.next_report();
}

void Saver::wait() {
  if (!busy()) return;
  Impl& self = *impl_;
  if (!self.job->report) {
    self.wait_until("wait for the checkpoint writer", [&] { return is_ready(self.job->written); });
    self.collect();
  }
  self.wait_until("wait for the manifest of a checkpoint", [&] { return self.manifest.is_done(); });
  self.conclude();
}

std::optional<SaveReport> Saver::finish() {
  Impl& self = *impl_;
  wait();
  self.wait_for_view();
  self.pruner.finish();
  for (; self.reports.size() > 1; self.reports.pop_front()) {
    log::info("checkpoint of step {} was committed before: {}", self.reports.front().step, self.reports.front().path);
  }
  return self.next_report();
}

std::int64_t Saver::bytes_read() const {
  return impl_->pruner.bytes_read();
}

bool Saver::busy() const {
  return impl_->job.has_value();
}

}  // namespace octet::checkpoint
