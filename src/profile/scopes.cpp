#include "src/profile/scopes.h"

#include <utility>

#include "src/device/ranges.h"

namespace octet {
namespace {

std::string_view current_unit;  // both: main thread only
StepPart current_part = StepPart::other;

}  // namespace

UnitScope::UnitScope(std::string_view name) : outer_(std::exchange(current_unit, name)) {
  push_range(name);
}
UnitScope::~UnitScope() {
  pop_range();
  current_unit = outer_;
}
std::string_view UnitScope::current() {
  return current_unit;
}

StepPartScope::StepPartScope(StepPart part) : outer_(std::exchange(current_part, part)) {
  push_range(name_of(part));
}
StepPartScope::~StepPartScope() {
  pop_range();
  current_part = outer_;
}
StepPart StepPartScope::current() {
  return current_part;
}

}  // namespace octet
