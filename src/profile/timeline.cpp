#include "src/profile/timeline.h"

#include <algorithm>

#include "src/base/error.h"

namespace octet {

Timeline* Timeline::current_ = nullptr;
Timeline* Timeline::recording_ = nullptr;

Timeline::Timeline(Stream& model) : model_(model), names_{"host"} {
  if (current_ != nullptr) throw internal_error("profile", "a second timeline; expected one at a time");
  name_stream(model, "model");
  current_ = this;
}

Timeline::~Timeline() {
  current_ = nullptr;
  recording_ = nullptr;
}

TimelineUnseen::TimelineUnseen()
    : current_(std::exchange(Timeline::current_, nullptr)), recording_(std::exchange(Timeline::recording_, nullptr)) {}

TimelineUnseen::~TimelineUnseen() {
  Timeline::current_ = current_;
  Timeline::recording_ = recording_;
}

void Timeline::name_stream(Stream& stream, std::string name) {
  streams_.push_back(&stream);
  names_.push_back(std::move(name));
}

int Timeline::number_of(Stream& stream) {
  const auto found = std::ranges::find(streams_, &stream);
  const auto number = static_cast<int>(found - streams_.begin()) + 1;
  if (found == streams_.end()) name_stream(stream, "stream " + std::to_string(number));
  return number;
}

bool Timeline::is_on_device(const Stream& stream) const {
  return &stream.device() == &model_.device();
}

double Timeline::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - origin_).count();
}

void Timeline::set_anchor() {
  anchors_.push_back({model_.device().make_timing_event(), 0});
  model_.record(*anchors_.back().event);
}

void Timeline::begin() {
  if (recording_ != nullptr) throw internal_error("profile", "the timeline records already");
  for (Stream* stream : streams_) stream->synchronize();
  set_anchor();
  model_.synchronize();
  origin_ = std::chrono::steady_clock::now();  // the moment of the first anchor, on the host's clock
  recording_ = this;
}

void Timeline::begin_step(std::int64_t number) {
  if (!steps_.empty()) set_anchor();
  steps_.push_back({number, now(), 0});
}

void Timeline::end_step() {
  steps_.back().end = now();
}

std::size_t Timeline::open(Stream& stream, const SpanInfo& info) {
  pieces_.push_back({.span = {.name = std::string(info.name),
                              .kind = info.kind,
                              .part = StepPartScope::current(),
                              .unit = std::string(UnitScope::current()),
                              .group = std::string(info.group),
                              .bytes = info.bytes,
                              .bus_bytes = info.bus_bytes,
                              .stream = number_of(stream)},
                     .anchor = anchors_.size() - 1,
                     .begin = nullptr,
                     .end = nullptr});
  Piece& piece = pieces_.back();
  if (is_on_device(stream)) {
    piece.begin = stream.device().make_timing_event();
    stream.record(*piece.begin);
  } else {
    piece.span.begin = now();
  }
  return pieces_.size() - 1;
}

void Timeline::close(std::size_t span, Stream& stream) {
  Piece& piece = pieces_.at(span);
  piece.closed = true;
  if (!is_on_device(stream)) {
    piece.span.end = now();
    return;
  }
  piece.end = stream.device().make_timing_event();
  stream.record(*piece.end);
}

void Timeline::add_bytes(std::size_t span, std::int64_t bytes, double bus_bytes) {
  pieces_.at(span).span.bytes += bytes;
  pieces_.at(span).span.bus_bytes += bus_bytes;
}

void Timeline::add_host(std::string_view name, std::chrono::steady_clock::time_point begin) {
  const double end = now();
  pieces_.push_back({.span = {.name = std::string(name),
                              .kind = SpanKind::host,
                              .part = StepPartScope::current(),
                              .unit = std::string(UnitScope::current()),
                              .stream = host_stream,
                              .begin = std::chrono::duration<double>(begin - origin_).count(),
                              .end = end},
                     .anchor = 0,
                     .begin = nullptr,
                     .end = nullptr,
                     .closed = true});
}

void Timeline::read(Recording& out) {
  for (std::size_t i = 1; i < anchors_.size(); ++i) {
    anchors_[i].at = anchors_[i - 1].at + anchors_[i].event->seconds_since(*anchors_[i - 1].event);
  }
  for (Piece& piece : pieces_) {
    if (!piece.closed) continue;
    if (piece.begin != nullptr) {
      const Anchor& anchor = anchors_[piece.anchor];
      piece.span.begin = anchor.at + piece.begin->seconds_since(*anchor.event);
      piece.span.end = piece.span.begin + piece.end->seconds_since(*piece.begin);
    }
    out.spans.push_back(std::move(piece.span));
  }
}

Recording Timeline::end() {
  if (recording_ != this) throw internal_error("profile", "the timeline does not record");
  recording_ = nullptr;
  for (Stream* stream : streams_) stream->synchronize();
  Recording out;
  out.wall = now();
  out.steps = std::exchange(steps_, {});
  out.streams = names_;
  read(out);
  pieces_.clear();
  anchors_.clear();
  return out;
}

}  // namespace octet
