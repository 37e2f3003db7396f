#include "src/corpus/part_joiner.h"

#include <algorithm>
#include <utility>

namespace octet {

PartJoiner::PartJoiner(std::vector<Output> outputs, std::vector<bool> finished)
    : outputs_(std::move(outputs)), finished_(std::move(finished)) {
  const bool all = std::ranges::all_of(finished_, [](bool is) { return is; });
  for (const Output& output : outputs_) {
    const bool left = !all || TokenJoin::is_left(output.parts, output.prefix);
    joins_.push_back(left ? std::make_unique<TokenJoin>(output.prefix) : nullptr);
  }
  thread_ = std::thread([this] { take_parts(); });
}

PartJoiner::~PartJoiner() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  end_thread();
}

void PartJoiner::end_thread() {
  if (thread_.joinable()) thread_.join();
}

void PartJoiner::part_is_finished(std::size_t part) {
  const std::scoped_lock lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  finished_[part] = true;
  changed_.notify_all();
}

void PartJoiner::take_parts() {
  for (std::size_t part = 0; part < finished_.size(); ++part) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopped_ || finished_[part]; });
      if (stopped_) return;
    }
    try {
      for (std::size_t i = 0; i < joins_.size(); ++i) {
        if (joins_[i]) joins_[i]->take(outputs_[i].parts[part]);
      }
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      error_ = std::current_exception();
      return;
    }
  }
}

void PartJoiner::finish() {
  end_thread();
  if (error_) std::rethrow_exception(error_);
  for (const auto& join : joins_) {
    if (join) join->finish();
  }
}

}  // namespace octet
