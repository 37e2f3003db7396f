#include "src/train/plan/dry_timeline.h"

#include <algorithm>

#include "src/profile/scopes.h"

namespace octet {
namespace {

SpanKind kind_of(const Work& work) {
  if (work.ranks > 0) return SpanKind::communication;
  if (work.flops == 0) return SpanKind::memory_bound;
  return work.name.starts_with("attention") ? SpanKind::attention : SpanKind::gemm;
}

}  // namespace

DryTimeline::DryTimeline(const MachineRates& rates, const MeshShape& mesh, int rank)
    : rates_(rates), mesh_(mesh), rank_(rank) {
  recording_.streams = {"host"};
}

const DryTimeline::Link& DryTimeline::link_of(std::string_view name) {
  const auto known = links_.find(name);
  if (known != links_.end()) return known->second;
  const MeshGroup* const group = find_group(name, mesh_);
  // A pipeline's messages are in groups that are no mesh's, one for each direction (stage_links.h).
  return links_.emplace(name, group != nullptr ? ring_of(*group) : message_link()).first->second;
}

/// A ring through all ranks of the group: within the node, or through the cards of the node that are these ranks'.
DryTimeline::Link DryTimeline::ring_of(const MeshGroup& group) {
  const std::vector<int> ranks = ranks_of(group, mesh_, rank_);
  const int node = rank_ / rates_.ranks_on_node;
  const auto here = std::ranges::count_if(ranks, [&](int r) { return r / rates_.ranks_on_node == node; });
  if (here == static_cast<std::ptrdiff_t>(ranks.size())) return {rates_.in_node, 0, &node_};
  const double cards = rates_.network * static_cast<double>(here) / rates_.ranks_on_node;
  return {here > 1 ? std::min(cards, rates_.in_node) : cards, rates_.latency, &cards_};
}

/// All ranks of a node send at a time, each through its card.
DryTimeline::Link DryTimeline::message_link() const {
  const std::vector<int> ranks = ranks_of(mesh_group(GroupKind::pp), mesh_, rank_);
  const int node = rank_ / rates_.ranks_on_node;
  if (std::ranges::all_of(ranks, [&](int r) { return r / rates_.ranks_on_node == node; }))
    return {rates_.in_node, 0, nullptr};
  return {rates_.network / rates_.ranks_on_node, rates_.latency, nullptr};
}

double DryTimeline::seconds_of(const Work& work, double begin) {
  if (work.ranks == 1) return 0;
  if (work.ranks > 1) {
    const Link& link = link_of(work.group);
    const double transfer = work.bus_bytes / link.bytes_per_second;
    if (link.shared == nullptr) return link.latency + transfer;
    return link.shared->take(begin + link.latency, transfer) - begin;
  }
  return kernel_seconds(work, rates_.kernels);
}

void DryTimeline::set_model_stream(const Stream& stream) {
  streams_ = {&stream};
  recording_.streams = {"host", "model"};
}

/// Streams have the names of what they are for, as far as that has been seen.
int DryTimeline::number_of(const Stream& stream, const Work& work) {
  const auto place = static_cast<std::size_t>(std::ranges::find(streams_, &stream) - streams_.begin());
  if (place == streams_.size()) {
    streams_.push_back(&stream);
    recording_.streams.emplace_back();
  }
  std::string& name = recording_.streams[place + 1];
  if (name.empty() && work.ranks > 0) name = std::string(work.group) + " " + std::string(work.name);
  return static_cast<int>(place) + 1;
}

double DryTimeline::add(const Stream& stream, const Work& work, const Turn& turn) {
  const double seconds = seconds_of(work, turn.begin);
  const int number = number_of(stream, work);
  if (number == 1) end_ = std::max(end_, turn.begin + seconds);
  if (seconds == 0 && work.ranks <= 1) return 0;  // a message that is received takes no time, but has bytes
  recording_.spans.push_back({.name = std::string(work.name),
                              .kind = kind_of(work),
                              .part = StepPartScope::current(),
                              .unit = std::string(UnitScope::current()),
                              .group = std::string(work.group),
                              .bytes = work.bytes,
                              .bus_bytes = work.bus_bytes,
                              .stream = number,
                              .begin = turn.begin,
                              .end = turn.begin + seconds});
  return seconds;
}

void DryTimeline::clear() {
  std::erase_if(recording_.spans, [&](const Span& s) { return s.end <= end_; });
  recording_.steps.clear();
  zero_ = begin_ = end_;
}

void DryTimeline::end_step(std::int64_t number) {
  recording_.steps.push_back({number, begin_ - zero_, end_ - zero_});
  for (LinkTime* link : {&node_, &cards_}) link->forget(begin_);
  begin_ = end_;
}

Recording DryTimeline::recording() const {
  Recording out = recording_;
  std::erase_if(out.spans, [&](const Span& s) { return s.begin >= end_; });
  for (Span& s : out.spans) {
    s.begin -= zero_;
    s.end -= zero_;
  }
  out.wall = end_ - zero_;
  return out;
}

}  // namespace octet
