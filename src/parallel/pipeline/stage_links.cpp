#include "src/parallel/pipeline/stage_links.h"

#include "src/base/error.h"
#include "src/profile/timeline.h"

namespace octet {

StageLinks::StageLinks(Communicator& pipeline, Stream& compute, int landings, const Shape& shape, DType dtype)
    : compute_(compute) {
  Device& device = compute.device();
  for (const auto& [d, name] : {std::pair(Direction::down, "pp_down"), std::pair(Direction::up, "pp_up")}) {
    Link& l = link(d);
    l.stream = device.make_stream(StreamPriority::high);
    l.group = pipeline.on_stream(*l.stream, name);
    l.written = device.make_event();
    if (Timeline* timeline = Timeline::current(); timeline != nullptr) timeline->name_stream(*l.stream, name);
  }
  for (int i = 0; i < landings; ++i) {
    landings_.push_back({TensorBuffer(device, dtype, shape, Purpose::communication), device.make_event()});
  }
}

void StageLinks::send(const PipelineStep& step, const Tensor& data) {
  Link& l = link(step.direction());
  compute_.record(*l.written);
  l.stream->wait(*l.written);
  going_[step.slot].push_back(l.group->start_send(data.data, data.elements(), data.dtype, step.peer));
}

void StageLinks::receive(const PipelineStep& step, const Tensor& data) {
  Link& l = link(step.direction());
  Tensor to = data;
  if (step.direction() == Direction::down) {
    const Landing& landing = landings_.at(static_cast<std::size_t>(step.landing));
    if (landing.used) l.stream->wait(*landing.taken);
    to = landing.buffer.view();
  }
  // A gradient needs no such wait: the rank that sends it has already received what was sent from this memory.
  coming_[static_cast<std::size_t>(step.direction())][{step.pass.micro_batch, step.pass.chunk}] =
      l.group->start_recv(to.data, to.elements(), to.dtype, step.peer);
}

void StageLinks::take(const PipelineStep& step, const Tensor& data) {
  const auto message =
      coming_[static_cast<std::size_t>(step.direction())].extract(Message{step.pass.micro_batch, step.pass.chunk});
  if (message.empty()) throw internal_error("parallel", "{} was not received", text_of(step.pass, 2));
  message.mapped()->wait(compute_);
  if (step.direction() == Direction::up) return;
  Landing& landing = landings_.at(static_cast<std::size_t>(step.landing));
  compute_.device().copy(data.data, landing.buffer.view().data, data.bytes(), compute_);
  compute_.record(*landing.taken);
  landing.used = true;
}

void StageLinks::await_sends(int slot) {
  for (const auto& transfer : going_[slot]) transfer->wait(compute_);
  going_[slot].clear();
}

void StageLinks::await_all_sends() {
  for (const auto& [slot, transfers] : going_) await_sends(slot);
}

void StageLinks::poll() {
  for (const auto& [slot, transfers] : going_) {
    for (const auto& transfer : transfers) transfer->poll();
  }
  for (const auto& coming : coming_) {
    for (const auto& [work, transfer] : coming) transfer->poll();
  }
}

}  // namespace octet
