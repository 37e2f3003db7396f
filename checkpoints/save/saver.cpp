#include "checkpoints/save/saver.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>

#include "checkpoints/format/durable.h"
#include "checkpoints/format/hash.h"
#include "checkpoints/save/background_view.h"
#include "checkpoints/save/commit.h"
#include "checkpoints/save/disk_space.h"
#include "checkpoints/save/pruner.h"
#include "checkpoints/save/save_job.h"
#include "checkpoints/save/save_share.h"
#include "checkpoints/save/snapshot.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/base/replace_file.h"
#include "src/base/seconds_since.h"
#include "src/comm/agreement.h"
#include "src/comm/control_exchange.h"
#include "src/comm/operation.h"

namespace octet::checkpoint {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

/// What is done before a save is under way, and after it is committed; SaveJob has what is between.
struct Saver::Impl {
  SaverOptions options;
  Communicator& control;
  Stream& stream;
  WriterGroup group;
  std::string planned;                                                  ///< hash of the pieces that `plan` is for
  std::shared_ptr<const SavePlan> plan = std::make_shared<SavePlan>();  ///< empty but on rank 0
  SaveShare share;
  Snapshot snapshot;
  std::optional<SaveJob> job;      ///< the last one, until the next begins
  std::deque<SaveReport> reports;  ///< committed, not told yet
  BackgroundView view;
  Pruner pruner;

  Impl(SaverOptions with, Communicator& ranks, Stream& on)
      : options(std::move(with)),
        control(ranks),
        stream(on),
        group(make_writer_group(options.writers_per_node, control)),
        snapshot(group.ranks.get()),
        view(options.most_viewed_pieces),
        pruner({.root = options.root,
                .keep_last = options.keep_last,
                .keep_every = options.keep_every,
                .owner = options.owner},
               options.known, control) {}

  bool leads() const { return control.rank() == 0; }
  bool busy() const { return job && !job->is_over(); }

  /// Internal error, the same on all ranks, where `what` would change what a writer still reads.
  void expect_idle(const char* what) const {
    if (!busy()) return;
    throw internal_error("checkpoints", "{} while the checkpoint of step {} is being written", what, job->step());
  }

  void make_root() const {
    make_directories(options.root);
    remove_replacements(trial_file());
    const int removed = remove_leftovers(options.root, options.owner);
    if (removed > 0) log::info("{}: removed {} unfinished checkpoint(s)", options.root, removed);
  }

  /// By those that write there, so that a run does not learn after hours that it cannot. A full disk has a warning of
  /// its own.
  void expect_writable_root() const {
    const bool writes =
        group.writer.empty() || group.writer[static_cast<std::size_t>(control.rank())] == control.rank();
    if (!writes || can_replace_file(trial_file())) return;
    if (errno == EROFS) {  // which a broken one becomes: no mistake of the user's
      throw internal_error("checkpoints", "{}: cannot be written: {}", options.root, std::strerror(errno));
    }
    if (errno != ENOSPC && errno != EDQUOT) throw not_written("checkpoints", options.root);
  }
  std::string trial_file() const { return options.root + "/writable"; }

  void make_room(std::int64_t reserve) {
    const bool lacks = leads() && !has_room(options.root, plan->bytes, reserve);
    if (largest(lacks ? 1 : 0, control) != 0) pruner.make_room();
  }

  /// The plan stays while no rank's pieces change; only then it is worth an exchange.
  void make_plan(std::span<const DevicePiece> pieces) {
    const std::string description = describe_pieces(pieces);
    std::string now = hash_of(description.data(), description.size());
    if (largest(now == planned ? 0 : 1, control) == 0) return;
    planned.clear();
    plan = std::make_shared<SavePlan>();
    SharedPlan made = plan_together(pieces, group, control);
    plan = std::make_shared<const SavePlan>(std::move(made.plan));
    share = std::move(made.share);
    planned = std::move(now);
  }

  void reserve(const std::string& what, std::span<const DevicePiece> pieces) {
    agree("checkpoints", what, snapshot.reserve(pieces, share, stream), control);
  }

  void take_snapshot(const SaveOrder& order, std::span<const DevicePiece> pieces) {
    const std::string what = cannot_be_saved(order.state.step);
    try {
      reserve(what, pieces);
      together("checkpoints", what, control, [&] { snapshot.take(pieces, share, stream); });
    } catch (...) {
      if (leads()) drop_temporary(order.temporary());
      throw;
    }
  }

  void committed(CommittedSave done) {
    const Clock::time_point start = Clock::now();
    if (leads()) view.start(done.report.path, plan->pieces(), options.owner);
    pruner.committed(done.report.step, std::move(done.files));
    done.report.commit_seconds += seconds_since(start);
    reports.push_back(std::move(done.report));
  }

  std::optional<SaveReport> next_report() {
    if (reports.empty()) return std::nullopt;
    SaveReport report = std::move(reports.front());
    reports.pop_front();
    return report;
  }
};

Saver::Saver(SaverOptions options, Communicator& control, Stream& stream)
    : impl_(std::make_unique<Impl>(std::move(options), control, stream)) {
  together("checkpoints", "checkpoints cannot be written", control, [&] {
    if (impl_->leads()) impl_->make_root();
  });
  together("checkpoints", "checkpoints cannot be written", control, [&] { impl_->expect_writable_root(); });
  if (impl_->options.restored >= 0) impl_->pruner.restored(impl_->options.restored);
}

Saver::~Saver() {
  // Left by an exception: what is being written stays a leftover, which the next start removes.
  const OperationScope operation("wait for the checkpoint writer");
  impl_.reset();
}

void Saver::prepare(std::span<const DevicePiece> pieces) {
  Impl& self = *impl_;
  self.expect_idle("prepare");
  self.make_plan(pieces);
  self.reserve("checkpoints cannot be taken", pieces);
  self.make_room(space_reserve);  // before it is said to be too little
  if (!self.leads()) return;
  warn_of_lack_of_space(self.options.root, self.plan->bytes, self.options.keep_last, self.options.keep_every);
}

void Saver::start(const RunState& state, std::span<const DevicePiece> pieces, bool last) {
  Impl& self = *impl_;
  self.expect_idle("start");
  const Clock::time_point start = Clock::now();
  self.make_plan(pieces);
  SaveOrder order{.root = self.options.root, .owner = self.options.owner, .state = state, .plan = self.plan};
  const std::int64_t reserve = last ? 0 : space_reserve;
  self.make_room(reserve);
  together("checkpoints", cannot_be_saved(state.step), self.control, [&] {
    if (!self.leads()) return;
    check_free_space(order.root, self.plan->bytes, reserve);
    make_temporary(order.root, state.step, order.owner);
  });
  self.take_snapshot(order, pieces);
  order.stall_seconds = seconds_since(start);
  self.job.emplace(std::move(order), self.snapshot.pieces(), self.view.running(), self.control);
}

std::optional<SaveReport> Saver::poll() {
  Impl& self = *impl_;
  self.pruner.poll();
  if (self.busy()) {
    if (std::optional<CommittedSave> done = self.job->advance()) self.committed(std::move(*done));
  }
  return self.next_report();
}

void Saver::wait() {
  Impl& self = *impl_;
  if (self.busy()) self.committed(self.job->wait());
}

std::optional<SaveReport> Saver::finish() {
  Impl& self = *impl_;
  wait();
  self.pruner.finish();
  for (; self.reports.size() > 1; self.reports.pop_front()) {
    log::info("checkpoint of step {} was committed before: {}", self.reports.front().step, self.reports.front().path);
  }
  return self.next_report();
}

std::int64_t Saver::host_bytes() const {
  return impl_->snapshot.bytes() + impl_->share.host_bytes() + impl_->plan->host_bytes();
}

std::int64_t Saver::bytes_read() const {
  return impl_->pruner.bytes_read();
}

void Saver::wait_for_view() const {
  impl_->view.wait(impl_->control);
}

bool Saver::busy() const {
  return impl_->busy();
}

}  // namespace octet::checkpoint
