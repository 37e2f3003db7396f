#include "src/parallel/update_events.h"

#include "src/base/error.h"
#include "src/profile/timeline.h"

namespace octet {

Stream& UpdateEvents::begin(bool beside) {
  if (last_ != nullptr) throw internal_error("parallel", "an update begins; expected the one before to be joined");
  beside_ = beside;
  if (!beside) return stream_;
  if (!own_) {
    own_ = stream_.device().make_stream(StreamPriority::high);
    for (Unit& unit : units_) unit.updated = stream_.device().make_event();
    begun_ = stream_.device().make_event();
    if (Timeline* timeline = Timeline::current(); timeline != nullptr) timeline->name_stream(*own_, "optimizer");
  }
  stream_.record(*begun_);
  own_->wait(*begun_);
  return *own_;
}

void UpdateEvents::end_unit(std::size_t unit) {
  if (!beside_) return;
  last_ = &units_[unit];
  own_->record(*last_->updated);
  last_->pending = true;
}

void UpdateEvents::await(std::size_t unit, Stream& stream) {
  if (!units_[unit].pending) return;
  stream.wait(*units_[unit].updated);
  units_[unit].pending = false;
}

void UpdateEvents::join() {
  if (last_ == nullptr) return;
  stream_.wait(*last_->updated);
  for (Unit& unit : units_) unit.pending = false;
  last_ = nullptr;
}

}  // namespace octet
