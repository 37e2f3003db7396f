#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "src/comm/mesh.h"
#include "src/device/device.h"
#include "src/profile/timeline.h"
#include "src/train/plan/link_time.h"
#include "src/train/step/kernel_rates.h"

namespace octet {

/// What a rank's device and links can do at most.
struct MachineRates {
  KernelRates kernels;
  int ranks_on_node = 8;
  double in_node = 0;  ///< bytes a second that a rank sends to others of its node
  double network = 0;  ///< bytes a second that a node sends to others
  double latency = 0;  ///< seconds that a collective between nodes takes beside
};

/// The timeline of a run that is run dry (DryRun): what each stream does when, if every kernel and every collective
/// runs at the rates of the machine. A lower bound of the time, and the shape of what overlaps. A kernel takes the
/// longer of its products and its bytes (attention half of its whole score matrix), a collective its bus bytes
/// (trace.h) over the slowest link of its ring, a message between stages over the slowest link between neighbours; the
/// host costs nothing, and other ranks are where this one is, also those of other stages (pipeline_timeline.h).
/// Collectives of several streams share the node's cards, and those within the node its links; messages are few, and
/// share nothing. Kernels of several streams take nothing from each other: an update beside a forward pass is free
/// where its GEMMs are longer.
///
/// A step ends when the model's stream is done with it. What other streams then still do of it is in the next step's
/// time.
class DryTimeline final : public WorkLog {
 public:
  DryTimeline(const MachineRates& rates, const MeshShape& mesh, int rank);

  void set_model_stream(const Stream& stream) override;
  double add(const Stream& stream, const Work& work, const Turn& turn) override;
  /// What was recorded until now belongs to this step.
  void end_step(std::int64_t number);
  /// Forgets what was recorded; a step begins.
  void clear();

  /// Its zero is where the first step that it holds begins.
  Recording recording() const;

 private:
  /// From `begin` on, when it could begin.
  double seconds_of(const Work& work, double begin);
  /// What the slowest link of a ring through a group's ranks carries, and what a collective takes beside. Ranks of a
  /// node work alike, so that the cards of one group's ranks are all that the node has while it exchanges.
  struct Link {
    double bytes_per_second, latency;
    LinkTime* shared;  ///< null: nothing else takes of it
  };
  const Link& link_of(std::string_view group);
  Link ring_of(const MeshGroup& group);
  Link message_link() const;
  int number_of(const Stream& stream, const Work& work);

  MachineRates rates_;
  MeshShape mesh_;
  int rank_;
  double begin_ = 0, end_ = 0;  ///< of the step under way
  double zero_ = 0;             ///< of the first one
  LinkTime node_, cards_;
  std::map<std::string, Link, std::less<>> links_;  ///< by group
  std::vector<const Stream*> streams_;
  Recording recording_;
};

}  // namespace octet
