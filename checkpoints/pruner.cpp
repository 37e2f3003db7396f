#include "checkpoints/pruner.h"

#include <chrono>
#include <vector>

#include "checkpoints/restore.h"
#include "checkpoints/retention.h"
#include "checkpoints/shard_file.h"
#include "checkpoints/verification.h"
#include "src/base/log.h"
#include "src/comm/watchdog.h"

namespace octet::checkpoint {
namespace {

constexpr std::chrono::seconds patience(30);  // at the end of a run, which may have to make room for another

struct Stopped {};

std::vector<std::int64_t> steps_in(const std::string& root) {
  std::vector<std::int64_t> steps;
  for (const std::string& path : list_checkpoints(root)) steps.push_back(step_of(path).value());
  return steps;
}

/// Throws what is wrong with it.
void expect_hashes(const std::string& directory, const Manifest& manifest, const std::atomic<bool>& stop) {
  const auto go_on = [&](std::int64_t) {
    if (stop) throw Stopped{};
  };
  for (const StoredFile& file : manifest.files) {
    const std::string found = hash_file(directory + "/" + file.name, go_on).hash;
    if (found != file.hash)
      throw usage_error("checkpoints", "{}: found hash {}, expected {}", file.name, found, file.hash);
  }
}

bool is_whole(const std::string& directory, bool was_read, const std::atomic<bool>& stop) {
  try {
    const Manifest manifest = read_manifest(directory);
    if (const auto missing = find_missing(directory, manifest); !missing.empty()) {
      throw usage_error("checkpoints", "{}: {}", missing[0].file, missing[0].what);
    }
    if (!was_read) expect_hashes(directory, manifest, stop);
    return true;
  } catch (const Error& error) {
    log::warning("{}: {} (it does not count for checkpoint.keep)", directory, error.what());
    return false;
  }
}

/// That one stays is no reason to stop a run, nor to let the next one stay.
void remove(const PruneRule& rule, std::int64_t step) {
  try {
    remove_checkpoint(rule.root, step, rule.owner);
  } catch (const std::exception& error) {
    log::warning("{} (an old checkpoint could not be removed)", error.what());
  }
}

}  // namespace

void prune(const PruneRule& rule, std::int64_t committed, Judgement& known, const std::atomic<bool>& stop) {
  const auto counts = [&](std::int64_t step) {
    const auto before = known.find(step);
    if (before != known.end() && !before->second) return false;  // said already
    return known[step] = is_whole(rule.root + "/" + directory_name(step), before != known.end(), stop);
  };
  try {
    for (const std::int64_t step :
         steps_to_prune(steps_in(rule.root), committed, rule.keep_last, rule.keep_every, counts)) {
      remove(rule, step);
    }
  } catch (const Stopped&) {
    log::warning("{}: old checkpoints stay; there was no time to read those that shall be kept", rule.root);
  } catch (const std::exception& error) {
    log::warning("{} (old checkpoints were not removed)", error.what());
  }
}

Pruner::~Pruner() {
  stop_ = true;  // and the future waits
}

bool Pruner::is_running() const {
  return running_.valid() && running_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout;
}

void Pruner::committed(std::int64_t step) {
  if (!is_running()) collect();
  newest_ = step;
  known_[step] = true;  // its files were read back when they were hashed
  if (!running_.valid()) start();
}

void Pruner::start() {
  done_ = newest_;
  try {
    running_ = std::async(std::launch::async, [rule = rule_, step = newest_, known = known_, &stop = stop_]() mutable {
      prune(rule, step, known, stop);
      return std::move(known);
    });
  } catch (const std::exception& error) {
    log::warning("{} (old checkpoints were not removed)", error.what());
  }
}

void Pruner::collect() {
  if (!running_.valid()) return;
  for (const auto& [step, whole] : running_.get()) known_[step] = whole;
}

void Pruner::finish() {
  const OperationScope operation("wait for the removal of old checkpoints");
  const auto end = std::chrono::steady_clock::now() + patience;
  const auto wait = [&] {
    if (running_.valid()) stop_ = running_.wait_until(end) == std::future_status::timeout;
    collect();
  };
  wait();
  if (done_ != newest_) {
    start();
    wait();
  }
  stop_ = false;
}

}  // namespace octet::checkpoint
