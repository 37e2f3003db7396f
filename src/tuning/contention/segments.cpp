#include "src/tuning/contention/segments.h"

#include <algorithm>

#include "src/base/error.h"

namespace octet {
namespace {

bool is_near(const FlowNetwork& shape, int card, int gpu) {
  return card == gpu * shape.cards / shape.gpus || gpu == card * shape.gpus / shape.cards;
}

std::vector<int> cards_of(const Segment& segment, const FlowNetwork& shape, const NodePlace& place) {
  const int working = shape.cards - place.lost_cards;
  if (working < 1) {
    throw usage_error("tuning", "node {} has lost {} of {} cards; expected one that works", place.host,
                      place.lost_cards, shape.cards);
  }
  std::vector<int> cards;
  for (int card = 0; card < working; ++card) {
    if (std::ranges::any_of(segment.gpus, [&](int gpu) { return is_near(shape, card, gpu); })) cards.push_back(card);
  }
  if (cards.empty()) cards.push_back(segment.gpus.front() * working / shape.gpus);
  return cards;
}

}  // namespace

std::vector<Segment> segments_of(const std::vector<int>& group, const FlowNetwork& shape,
                                 const std::vector<NodePlace>& nodes) {
  std::vector<Segment> segments;
  for (const int rank : group) {
    const int node = rank / shape.gpus;
    if (segments.empty() || segments.back().node != node) segments.push_back({.node = node, .gpus = {}, .cards = {}});
    segments.back().gpus.push_back(rank % shape.gpus);
  }
  for (Segment& s : segments) s.cards = cards_of(s, shape, nodes[static_cast<std::size_t>(s.node)]);
  return segments;
}

std::size_t channels_of(const std::vector<Segment>& segments) {
  return std::ranges::min(segments, {}, [](const Segment& s) { return s.cards.size(); }).cards.size();
}

}  // namespace octet
