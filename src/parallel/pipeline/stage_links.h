#pragma once

#include <array>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "src/comm/communicator.h"
#include "src/parallel/pipeline/pipeline_steps.h"
#include "src/tensor/tensor.h"

namespace octet {

/// A rank's messages to and from the stages of other ranks: activations down, gradients up, [rows of this rank, dim] in
/// the activations' type. Each direction has a group and a stream of its own (groups "pp_down" and "pp_up"), so that
/// messages travel beside the passes and neither direction waits for the other. Begins what PipelineSteps says, in that
/// order, which is the same on all ranks. Under tensor parallelism each rank sends its rows to the one that has the
/// same rows of the other stage. Main thread only.
class StageLinks {
 public:
  /// Collective over `pipeline`, the ranks that have the stages of the same data. `compute`: the stream of the passes.
  /// `landings`: buffers for activations that come before their slot is free, of this shape.
  StageLinks(Communicator& pipeline, Stream& compute, int landings, const Shape& shape, DType dtype);

  /// Begins to send what a pass has left in `data`, which is not written before await_sends of its slot.
  void send(const PipelineStep& step, const Tensor& data);
  /// Begins to receive: an activation into its landing, a gradient into `data`.
  void receive(const PipelineStep& step, const Tensor& data);
  /// Makes the compute stream wait for what the pass needs, and brings an activation from its landing to `data`.
  void take(const PipelineStep& step, const Tensor& data);
  /// Makes the compute stream wait for the messages that leave from this slot.
  void await_sends(int slot);
  void await_all_sends();
  /// Lets messages get on while the caller computes (Transfer::poll).
  void poll();

 private:
  struct Link {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Communicator> group;
    std::unique_ptr<Event> written;  ///< what is to be sent
  };
  struct Landing {
    TensorBuffer buffer;
    std::unique_ptr<Event> taken;
    bool used = false;
  };
  using Message = std::pair<int, int>;  ///< micro-batch and chunk

  Link& link(Direction d) { return links_[static_cast<std::size_t>(d)]; }

  Stream& compute_;
  std::array<Link, 2> links_;
  std::vector<Landing> landings_;
  std::map<int, std::vector<std::unique_ptr<Transfer>>> going_;  ///< by slot
  std::array<std::map<Message, std::unique_ptr<Transfer>>, 2> coming_;
};

}  // namespace octet
