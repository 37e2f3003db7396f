#include "src/parallel/pipeline/rendezvous.h"

#include <fmt/format.h>

#include <array>
#include <deque>
#include <map>
#include <set>
#include <tuple>

#include "src/parallel/pipeline/pipeline_clock.h"

namespace octet {
namespace {

using Message = std::tuple<Direction, int, int>;  ///< with the micro-batch and the stage that uses it

class Rendezvous {
 public:
  explicit Rendezvous(const PipelineSteps& steps) : steps_(steps), ranks_(steps.ranks.size()) {}

  std::vector<std::string> run() {
    bool moved = true;
    while (moved && problems_.empty()) {
      moved = false;
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        while (advance(r)) moved = true;
        for (const Direction d : {Direction::down, Direction::up}) moved |= meet(r, d);
      }
    }
    if (problems_.empty()) tell_who_waits();
    return std::move(problems_);
  }

 private:
  struct Rank {
    std::size_t next = 0;
    std::array<std::deque<const PipelineStep*>, 2> under_way;
    std::set<Message> arrived;
    std::map<int, int> sends_of_slot;  ///< not over
  };

  Message message_of(std::size_t rank, const PipelineStep& step) const {
    const int stage = steps_.shape.stage(static_cast<int>(rank), step.pass.chunk);
    const bool sends = step.kind == PipelineStep::Kind::send;
    return {step.direction(), step.pass.micro_batch,
            stage + (!sends                                ? 0
                     : step.direction() == Direction::down ? 1
                                                           : -1)};
  }
  std::deque<const PipelineStep*>& queue(std::size_t rank, Direction d) {
    return ranks_[rank].under_way[static_cast<std::size_t>(d)];
  }
  std::string text(std::size_t rank, const PipelineStep& step) const {
    const auto* kind = step.kind == PipelineStep::Kind::pass   ? ""
                       : step.kind == PipelineStep::Kind::send ? "send of "
                                                               : "receive for ";
    return fmt::format("rank {}: {}{}", rank, kind, text_of(step.pass, steps_.shape.chunks));
  }

  bool may_pass(std::size_t r, const PipelineStep& step) const {
    const Rank& rank = ranks_[r];
    const auto sends = rank.sends_of_slot.find(step.slot);
    const bool begins = step.pass.kind == PassKind::forward;
    if (begins && sends != rank.sends_of_slot.end() && sends->second > 0) return false;
    return step.peer < 0 || rank.arrived.contains(message_of(r, step));
  }

  /// Does the rank's next step if it need not wait.
  bool advance(std::size_t r) {
    Rank& rank = ranks_[r];
    if (rank.next == steps_.ranks[r].size()) return false;
    const PipelineStep& step = steps_.ranks[r][rank.next];
    if (step.kind == PipelineStep::Kind::pass) {
      const auto producer = producer_of(steps_.shape, static_cast<int>(r), step.pass);
      const int from = producer && producer->rank != static_cast<int>(r) ? producer->rank : -1;
      if (from != step.peer) {
        problems_.push_back(fmt::format("{} has its input from {}, not from {}", text(r, step), from, step.peer));
      }
      if (!may_pass(r, step)) return false;
    } else {
      queue(r, step.direction()).push_back(&step);
      if (step.kind == PipelineStep::Kind::send) ++rank.sends_of_slot[step.slot];
    }
    ++rank.next;
    return true;
  }

  /// Ends the rank's first send in this direction if its receiver has come to it.
  bool meet(std::size_t r, Direction d) {
    auto& mine = queue(r, d);
    if (mine.empty() || mine.front()->kind != PipelineStep::Kind::send) return false;
    const PipelineStep& send = *mine.front();
    const auto peer = static_cast<std::size_t>(send.peer);
    auto& theirs = queue(peer, d);
    if (theirs.empty() || theirs.front()->kind != PipelineStep::Kind::receive ||
        theirs.front()->peer != static_cast<int>(r)) {
      return false;
    }
    const Message message = message_of(r, send);
    if (message != message_of(peer, *theirs.front())) {
      problems_.push_back(fmt::format("{} meets {}", text(r, send), text(peer, *theirs.front())));
    }
    ranks_[peer].arrived.insert(message);
    --ranks_[r].sends_of_slot[send.slot];
    mine.pop_front();
    theirs.pop_front();
    return true;
  }

  void tell_who_waits() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (ranks_[r].next < steps_.ranks[r].size()) {
        problems_.push_back(fmt::format("{} waits for ever", text(r, steps_.ranks[r][ranks_[r].next])));
      }
      for (const auto& transfers : ranks_[r].under_way) {
        if (!transfers.empty()) problems_.push_back(fmt::format("{} is never over", text(r, *transfers.front())));
      }
    }
  }

  const PipelineSteps& steps_;
  std::vector<Rank> ranks_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> problems_of_transfers(const PipelineSteps& steps) {
  return Rendezvous(steps).run();
}

}  // namespace octet
