#include "src/train/plan/dry_order.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/profile/scopes.h"

namespace octet {

void DryOrder::set_model_stream(const Stream& stream) {
  streams_ = {&stream};
  if (times_ != nullptr) times_->set_model_stream(stream);
}

double DryOrder::add(const Stream& stream, const Work& work, const Turn& turn) {
  const auto place = std::ranges::find(streams_, &stream) - streams_.begin();
  if (place == std::ssize(streams_)) streams_.push_back(&stream);
  nlohmann::ordered_json line = {{"number", turn.number},
                                 {"stream", place},
                                 {"part", name_of(StepPartScope::current())},
                                 {"unit", UnitScope::current()},
                                 {"name", work.name}};
  if (work.ranks > 0) line.update({{"group", work.group}, {"ranks", work.ranks}});
  if (work.flops > 0) line["flops"] = work.flops;
  line["bytes"] = work.bytes;
  if (!turn.after.empty()) line["after"] = turn.after;
  lines_ += line.dump() + '\n';
  return times_ == nullptr ? 0 : times_->add(stream, work, turn);
}

}  // namespace octet
