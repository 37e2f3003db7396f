#include "checkpoints/save/pruner.h"

#include <thread>

#include "checkpoints/format/messages.h"
#include "checkpoints/restore/restore.h"
#include "checkpoints/restore/verification.h"
#include "checkpoints/save/file_wait.h"
#include "src/base/in_background.h"
#include "src/base/log.h"
#include "src/comm/control_exchange.h"

namespace octet::checkpoint {
namespace {

/// Thrown where it is not known whether a checkpoint is whole.
struct Unknown {
  Question question;
};

std::vector<std::int64_t> steps_in(const std::string& root) {
  std::vector<std::int64_t> steps;
  for (const std::string& path : list_checkpoints(root)) steps.push_back(step_of(path).value());
  return steps;
}

void warn_of_damage(const std::string& directory, const std::string& what) {
  log::warning("{}: {} (it does not count for checkpoint.keep)", directory, what);
}

/// By what is known, or at a glance. Throws Unknown where only reading tells.
bool is_whole(const std::string& directory, const Verdicts& known, Verdicts& learned) {
  if (const std::optional<bool> verdict = known.find(directory)) return *verdict;
  Verdicts::Files seen = Verdicts::look_at(directory, {});
  try {
    const Manifest manifest = read_manifest(directory);
    seen = Verdicts::look_at(directory, manifest.files);
    const std::vector<Damage> missing = find_missing(directory, manifest.files);
    if (missing.empty()) throw Unknown{{directory, manifest.files, seen}};
    warn_of_damage(directory, missing[0].file + ": " + missing[0].what);
    if (missing[0].code != ExitCode::usage) return false;
  } catch (const Error& error) {
    warn_of_damage(directory, error.what());
    if (error.code() != ExitCode::usage) return false;
  }
  learned.keep(directory, std::move(seen), false);
  return false;
}

/// That one stays is no reason to stop a run, nor to let the next one stay.
void remove(const PruneRule& rule, std::int64_t step) {
  try {
    remove_checkpoint(rule.root, step, rule.owner);
  } catch (const std::exception& error) {
    log::warning("{} (an old checkpoint could not be removed)", error.what());
  }
}

template <typename T>
bool is_ready(const std::future<T>& future) {
  return future.wait_for(std::chrono::seconds(0)) != std::future_status::timeout;
}

std::string packed(const Question& question) {
  Packer packer;
  packer.put(question.directory);
  put(packer, question.files);
  return packer.bytes();
}

Question unpacked(const std::string& bytes) {
  Unpacker unpacker(bytes);
  Question question{unpacker.take_text(), take_files(unpacker)};
  unpacker.expect_end();
  return question;
}

}  // namespace

Pruner::Choice Pruner::choose(const PruneRule& rule, std::int64_t committed, const Verdicts& known) {
  Choice choice;
  const auto directory_of = [&](std::int64_t step) { return rule.root + "/" + directory_name(step); };
  try {
    const auto counts = [&](std::int64_t step) { return is_whole(directory_of(step), known, choice.learned); };
    for (const std::int64_t step :
         steps_to_prune(steps_in(rule.root), committed, rule.keep_last, rule.keep_every, counts)) {
      remove(rule, step);
      choice.removed.push_back(directory_of(step));
    }
  } catch (Unknown& unknown) {
    choice.question = std::move(unknown.question);
  } catch (const std::exception& error) {
    log::warning("{} (old checkpoints were not removed)", error.what());
  }
  return choice;
}

Pruner::Pruner(PruneRule rule, Verdicts known, Communicator& control)
    : rule_(std::move(rule)), control_(control), known_(std::move(known)) {}

Pruner::~Pruner() {
  progress_.stop();  // and the futures wait
}

void Pruner::committed(std::int64_t step, Verdicts::Files files) {
  newest_ = step;
  // The thread has a copy of what was known when it began.
  if (leads()) known_.keep(rule_.root + "/" + directory_name(step), std::move(files), true);
  if (state_ == State::idle) start_choosing();
}

void Pruner::restored(std::int64_t step) {
  newest_ = step;
  start_choosing();
}

void Pruner::make_room() {
  if (newest_ < 0) return;  // nothing that would stay in place of what goes
  const OperationScope operation("wait for the removal of old checkpoints");
  pace_.hurry(true);
  const auto end = std::chrono::steady_clock::now() + rule_.patience;
  if (state_ == State::idle) start_choosing();
  for (poll(); state_ != State::idle; poll()) {
    const bool over = leads() && state_ == State::reading && std::chrono::steady_clock::now() >= end;
    if (largest(over ? 1 : 0, control_) != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    check_deadline(operation);
  }
}

void Pruner::start_choosing() {
  state_ = State::choosing;
  done_ = newest_;
  if (!leads()) return;
  choosing_ = in_background([rule = rule_, newest = newest_, known = known_] { return choose(rule, newest, known); });
}

void Pruner::end_choosing() {
  std::string message;
  if (leads() && is_ready(choosing_)) {
    Choice choice = choosing_.get();
    known_.add(choice.learned);
    for (const std::string& directory : choice.removed) known_.forget(directory);
    question_ = choice.question.value_or(Question{});
    message = packed(question_);
  }
  message = broadcast_bytes(message, 0, control_);
  if (message.empty()) return;  // not yet
  Question question = unpacked(message);
  if (!question.directory.empty()) return start_reading(std::move(question));
  state_ = State::idle;
  for (const std::string& directory : unread_) known_.forget(directory);
  unread_.clear();
  if (done_ != newest_) start_choosing();
}

void Pruner::start_reading(Question question) {
  state_ = State::reading;
  if (!leads()) question_ = std::move(question);
  reading_ = in_background([directory = question_.directory, files = question_.files, rank = control_.rank(),
                            ranks = control_.size(), &progress = progress_,
                            &pace = pace_] { return try_hash_share(directory, files, rank, ranks, progress, pace); });
}

void Pruner::end_reading() {
  const bool stops = leads() && late_ && !progress_.stopped();
  const std::int32_t furthest = largest(stops ? 2 : is_ready(reading_) ? 0 : 1, control_);
  if (furthest == 2) progress_.stop();
  if (furthest != 0) return;
  const Findings all = of_all_ranks(reading_.get(), control_);
  state_ = State::idle;
  if (progress_.stopped()) {
    if (leads())
      log::warning("{}: old checkpoints stay; there was no time to read those that shall be kept", rule_.root);
    done_ = newest_;
    return;
  }
  if (leads() && !all.all_well()) warn_of_damage(question_.directory, all.text());
  // One that could not be read is asked about again after the next commit.
  if (leads()) known_.keep(question_.directory, std::move(question_.seen), all.all_well());
  if (leads() && !all.complete) unread_.push_back(question_.directory);
  start_choosing();
}

void Pruner::poll() {
  if (state_ == State::choosing) {
    end_choosing();
  } else if (state_ == State::reading) {
    end_reading();
  }
  if (state_ == State::idle) pace_.hurry(false);
}

void Pruner::check_deadline(const OperationScope& operation) const {
  if (state_ == State::choosing && leads() && !is_ready(choosing_)) check_answer(operation, rule_.root);
  if (state_ == State::reading && !is_ready(reading_)) check_answer(operation, progress_.path());
}

void Pruner::finish() {
  const OperationScope operation("wait for the removal of old checkpoints");
  pace_.hurry(true);
  const auto end = std::chrono::steady_clock::now() + rule_.patience;
  for (poll(); state_ != State::idle; poll()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    late_ = std::chrono::steady_clock::now() >= end;
    check_deadline(operation);
  }
  progress_.go_on();
  late_ = false;
}

}  // namespace octet::checkpoint
