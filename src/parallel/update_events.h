#pragma once

#include <memory>
#include <vector>

#include "src/device/device.h"

namespace octet {

/// Where an optimizer's update of the model stands, unit by unit: on the model's stream, or on one of its own, beside
/// the next step's forward pass. There each unit has an event that says when its masters, moments and weight scales are
/// those of the next step, and whoever reads or writes one of them comes after it:
///   masters, scales  the unit's gather, which casts them or hands a master out as the weight, waits (await); all that
///                    works with the weight comes after the gather. So it is where the update writes the weight itself,
///                    and with the predictions by which it does so (WeightScales)
///   gradients        a unit's are written in its backward pass, which comes after the gather for its forward pass
///   norm, clip factor, skip flag, abs-maxes of weights, state of a float8 recipe
///                    written when a step is finished, which begins by waiting for the whole update before (join);
///                    the abs-maxes are recorded in backward passes too, before the first of which every unit that the
///                    rank has was gathered for its forward pass
///   all of these     read elsewhere (checkpoints, comparisons of replicas, tests): by ShardedModel's accessors, which
///                    join
/// The update itself comes after all that the model's stream was given before it. Host thread of the model; nothing
/// collective; the host waits for nothing.
class UpdateEvents {
 public:
  /// `stream`: the model's.
  UpdateEvents(std::size_t units, Stream& stream) : stream_(stream), units_(units) {}

  /// An update begins. Returns the stream that it is to be given, unit by unit: `beside`: not the model's. The update
  /// before must be joined.
  Stream& begin(bool beside);
  /// The update's stream has been given all of the unit.
  void end_unit(std::size_t unit);

  /// Makes `stream` wait for the unit's update. Only the first call after an update waits: later work on the unit is
  /// ordered after what `stream` does now.
  void await(std::size_t unit, Stream& stream);
  /// Says whether await() would wait.
  bool pending(std::size_t unit) const { return units_[unit].pending; }
  /// The model's stream comes after all of the update.
  void join();
  /// Says whether an update has begun beside the model's stream, which has not joined it yet.
  bool under_way() const { return last_ != nullptr; }

 private:
  struct Unit {
    std::unique_ptr<Event> updated;
    bool pending = false;  ///< nothing waits for it yet
  };

  Stream& stream_;
  std::unique_ptr<Stream> own_;   ///< made when it is first needed
  std::unique_ptr<Event> begun_;  ///< what the model's stream was given before the update
  std::vector<Unit> units_;
  Unit* last_ = nullptr;  ///< that was given to own_; null: the model's stream comes after all of it
  bool beside_ = false;   ///< of the update under way, or the last one
};

}  // namespace octet
