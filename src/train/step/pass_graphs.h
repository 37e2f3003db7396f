#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/base/named_enum.h"
#include "src/device/device.h"
#include "src/device/work_list.h"

namespace octet {

/// Gives a stream the passes of micro-batches, forward and backward, as graphs where they repeat. The host's part of a
/// pass runs as ever, so that its states and traces are what they are without graphs; but its kernels are listed
/// (src/device/work_list.h). A list that was met before, with the same work on the same addresses in the same order, is
/// given as a graph; another is done piece by piece. So nothing has to be known of how passes differ: those that write
/// gradients and that add to them, with weights to cast and without, after a validation, of the first step of a recipe
/// that remembers, each get a graph of their own, and none is replayed for another. The work is the same, and so are
/// the bits.
///
/// The first time libraries choose and load what they need; the second time the graph is made. A pass that cannot be
/// listed, and one that a Timeline records, is done as it is. Where a graph cannot be made, passes do not repeat, or
/// are of so many kinds that graphs are made again and again (as where rows hold other numbers of documents every
/// time), the rest of the run is done without, and the log says why. Main thread; nothing collective.
class PassGraphs {
 public:
  /// `automatic`: on a GPU, where there is no `obstacle` (obstacle_to_graphs) and graphs pay, by the first pass that is
  /// listed (`pays`).
  PassGraphs(AutoBool wanted, const std::string& obstacle, Stream& stream);

  /// Calls `pass`, which gives the stream a pass; what it gives is done when the stream comes there, as without.
  void run(const std::function<void()>& pass);

  bool on() const { return on_; }
  std::int64_t replayed() const { return replayed_; }  ///< passes that were given as a graph
  std::int64_t made() const { return made_; }          ///< graphs

  /// Mean seconds of a launch, at the rates of the GPU's data sheet, below which graphs pay. An H100 idled for 1.7 us
  /// between two kernels of a profiled step (1.6 to 1.8, over five runs of docs/gpu-results/h100-2026-11-22.md), and
  /// its kernels took about half as long again as the sheet says: 1 % of the time.
  static constexpr double pays_below = 100e-6;
  /// Passes in a row without a replay after which no more are listed.
  static constexpr int most_misses = 16;
  /// The graphs that a run may make before they have to be earned: they differ by gradients, weights and what follows a
  /// validation, and there is room for addresses that take turns.
  static constexpr int most_passes = 8;
  /// Replays by which a graph earns the making of another, beyond the first most_passes. To make one takes the host a
  /// few microseconds for each launch of it, where a replay saves about two.
  static constexpr int replays_a_graph = 16;

 private:
  struct Pass {
    WorkList work;
    std::unique_ptr<Graph> graph;
  };
  static constexpr int most_credit = most_passes * replays_a_graph;

  void decide();
  void give();
  bool make_graph(Pass& pass);
  void miss(const char* why);
  void turn_off(const std::string& why);

  AutoBool wanted_;
  bool on_;
  bool decided_;
  Stream& stream_;
  WorkList work_;             ///< of the pass under way
  std::vector<Pass> passes_;  ///< met before, the last one first
  std::int64_t replayed_ = 0, made_ = 0;
  int misses_ = 0;
  int credit_ = most_credit;  ///< of replays; a graph that is made takes replays_a_graph of it
};

}  // namespace octet
