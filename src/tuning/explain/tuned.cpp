#include "src/tuning/explain/tuned.h"

#include <algorithm>

#include "src/base/error.h"
#include "src/tuning/cost_model/tuned_constants.h"

namespace octet {
namespace {

void use_constants(Question& question, const TuningFile& tuning) {
  if (nccl_minor(tuning.nccl) != question.version.minor) {
    throw usage_error("tuning", "the tuning file is for NCCL {} and not for {}: the models of two releases differ",
                      tuning.nccl, to_text(question.version));
  }
  if (question.version < NcclVersion{2, 28, 0}) return;
  question.constants = with_tuned(question.constants, tuning.constants);
}

Alternative& entry(Explanation& told, Algorithm algorithm, Protocol protocol) {
  return *std::ranges::find_if(
      told.alternatives, [&](const Alternative& x) { return x.algorithm == algorithm && x.protocol == protocol; });
}

const TunedChoice* pin_of(const Question& question, const TuningFile& tuning) {
  const auto found = std::ranges::find_if(tuning.choices, [&](const TunedChoice& pin) {
    return pin.collective == question.collective && pin.ranks_per_node == question.shape.ranks_per_node &&
           pin.covers_nodes(question.shape.nodes) && question.bytes >= pin.bytes_from &&
           (pin.bytes_to == 0 || question.bytes < pin.bytes_to);
  });
  return found == tuning.choices.end() ? nullptr : &*found;
}

void use_pin(const TunedChoice& pin, Explanation& told) {
  const Alternative& wanted = entry(told, pin.algorithm, pin.protocol);
  if (wanted.us < 0) return;
  told.choice = {pin.algorithm, pin.protocol, wanted.us};
  told.range = {std::max<std::int64_t>(1, pin.bytes_from), pin.bytes_to, told.choice};
  told.pinned = pin.reason.empty() ? "no reason given" : pin.reason;
}

void use_fit(const Question& question, const TuningFile& tuning, Explanation& told) {
  told.fit = fitted_us(tuning, question.collective, told.choice.algorithm, told.choice.protocol, question.shape,
                       question.bytes);
  if (told.fit) told.choice.us = told.fit->us;
}

}  // namespace

Explanation explain(Question& question, const TuningFile& tuning) {
  use_constants(question, tuning);
  Explanation told = explain(question);
  if (const TunedChoice* pin = pin_of(question, tuning)) use_pin(*pin, told);
  use_fit(question, tuning, told);
  told.bus_gbs = bus_gbs(question.collective, question.shape, question.bytes, told.choice.us);
  told.wire = wire_rate(question, told.choice.algorithm, told.choice.us);
  return told;
}

}  // namespace octet
