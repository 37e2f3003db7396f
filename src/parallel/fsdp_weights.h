#pragma once

#include <memory>
#include <vector>

#include "kernels/table.h"
#include "src/comm/communicator.h"
#include "src/device/buffer.h"
#include "src/parallel/fsdp_options.h"
#include "src/parallel/gather_schedule.h"
#include "src/parallel/update_events.h"
#include "src/parallel/weight_layout.h"
#include "src/parallel/weight_scales.h"
#include "src/tensor/weight_provider.h"

namespace octet {

/// Fully sharded weights: every rank keeps fp32 pieces; a unit is cast on its owners and all-gathered when the model
/// asks for it, each parameter straight into the place where it is used (a gathered parameter is the pieces of all
/// ranks end to end, so nothing is copied in or out). fp8 weights are cast from fp32 once and travel as bytes.
/// Weights stay valid until invalidate() or updated(), which follows an optimizer step. So do their transposed copies,
/// which the model's stream makes when it first asks for them. A rank that has whole masters casts into both forms at
/// once at the gather instead, whether the pass has a backward or not: 6 bytes a weight in place of 7. Where nothing is
/// sent, the update itself leaves the unit's next weights in their place; of those in fp8 the next gather checks
/// whether the scale was the right one (WeightScales::recast).
///
/// Casts and gathers run on the stream of `shard_group`. Where that is not the compute stream, the next unit is
/// gathered while the model computes with the current one: a gather begins when the compute stream has passed all that
/// it was given before, which is where the gathered memory's former use ends, and the model's work waits for its own
/// unit alone. The host waits for nothing but what the communicator's calls wait for.
///
/// Where masters are updated beside the model, a unit is cast when its own update is done (UpdateEvents).
class FsdpWeights final : public WeightProvider {
 public:
  FsdpWeights(const ParameterList& list, const ShardedBuffer& master, WeightScales& scales, Communicator& shard_group,
              Communicator& tp_group, Stream& stream, FsdpOptions options, UpdateEvents* updates = nullptr);

  void begin_pass(std::span<const int> order) override { schedule_.begin(order); }
  std::span<const Tensor> gather(int unit) override;
  std::span<const Tensor> transposed(int unit) override;
  void release(int unit) override;
  /// The masters have changed: nothing gathered may be used again.
  void invalidate();
  /// The places at which an update of the unit's masters is to leave each new parameter as well, in bf16 or fp8 as it
  /// is gathered; null for a parameter whose master is itself the weight. The gathered weights are then those of the
  /// next step. Empty where the unit has to be gathered anew: it is not whole, it is exchanged, or ranks exchange
  /// abs-maxes for the scales of its fp8 weights.
  std::vector<void*> places_of_update(int unit) const;
  /// The masters have been updated, and places_of_update with them: nothing else that is gathered may be used again.
  void updated();

 private:
  struct Unit {
    bool gathered = false;
    bool needs_cast = false;  ///< some weights are gathered in bf16 and still have to be cast
    bool predicted = false;   ///< an update left it with fp8 weights by predicted scales, which are still to be checked
    Buffer buffer;
    Buffer high;  ///< bf16 forms of fp8 weights that are cast after the gather
    std::vector<Tensor> tensors;
    std::unique_ptr<Event> ready;    ///< the end of the gather, on its stream, where that is another one
    Buffer transposed_buffer;        ///< stays: the same addresses in every step
    std::vector<Tensor> transposed;  ///< empty: not made of these weights
  };

  bool overlaps() const { return &gathers_ != &stream_; }
  bool prefetches(int unit) const;
  void start_gather(int unit);
  /// The model's stream comes behind the gather, and casts there what is left to be cast.
  void finish_gather(int unit);
  void cast_after_gather(int index, Unit& unit);
  /// Casts again what an update has cast by a wrong scale.
  void recast(int index, Unit& unit);
  /// Says whether an update can leave the parameter, gathered as `w`, as it is used.
  bool can_be_left(std::size_t parameter, const Tensor& w) const;
  /// Casts this rank's pieces into their places and gathers them, all parameters in one group.
  void gather_parameters(int index, Unit& unit);
  /// `transposed`: where a whole weight is written transposed as well; null: nowhere.
  void cast_piece(std::size_t parameter, DType to, void* piece, void* transposed);
  /// Says where the weights of parameters [first, last) will be, in the unit's memory or as the masters.
  void place_tensors(std::size_t first, std::size_t last, Unit& unit);
  /// Takes the memory of the unit's transposed copies, and says where they will be.
  void place_transposed(Unit& unit);
  /// Says whether fp8 weights are cast as they are used, with nothing sent: then their transposed copies come with
  /// them.
  bool casts_both_forms() const;
  void cast_gathered(std::size_t parameter, const Tensor& high, Tensor& out);
  void drop(Unit& unit);

  const ParameterList& list_;
  const ShardedBuffer& master_;
  WeightScales& scales_;
  Communicator& group_;
  Communicator& tp_;
  Stream& stream_;   ///< the model's
  Stream& gathers_;  ///< the group's
  const KernelTable& kernels_;
  FsdpOptions options_;
  UpdateEvents* updates_;          ///< null: the model's stream updates the masters
  std::unique_ptr<Event> passed_;  ///< what the model's stream was given before a gather
  WeightLayout layout_;
  GatherSchedule schedule_;
  BufferPool pool_;
  Buffer staging_;  ///< from which a group of one gathers; a larger one has its own piece in its place already
  std::vector<Unit> units_;
};

}  // namespace octet
