#include "src/comm/operation.h"

#include <sched.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "src/base/error.h"
#include "src/base/heartbeat.h"
#include "src/comm/in_flight.h"
#include "src/profile/scopes.h"  // the unit that an operation's text names

namespace octet {
namespace {

using operations::Duration;

/// What the watchdog's thread shares with the main thread. The lock also keeps the scope alive while it is read.
struct Current {
  std::mutex mutex;
  const OperationScope* operation = nullptr;
};
Current& current() {
  static Current instance;
  return instance;
}

std::atomic<RunPhase> current_phase = RunPhase::start;  // written by the main thread

struct PhaseText {
  const char* name;
  const char* key;  ///< of its limit
};
constexpr std::array<PhaseText, operations::phases> phase_texts = {{{"start", "comm.start_timeout_seconds"},
                                                                    {"step", "comm.timeout_seconds"},
                                                                    {"checkpoint", "comm.checkpoint_timeout_seconds"},
                                                                    {"end", "comm.timeout_seconds"}}};

std::array<std::atomic<Duration>, operations::phases> deadlines;
std::atomic<Duration> most_of_a_gap;
bool watched = false;  // main thread only

Duration deadline_of(RunPhase phase) {
  return deadlines[static_cast<std::size_t>(phase)];
}

std::string text_of(RunPhase phase) {
  const PhaseText& text = phase_texts[static_cast<std::size_t>(phase)];
  return fmt::format("{} ({})", text.name, text.key);
}

/// Replaces the current operation. Returns the one before.
const OperationScope* exchange_operation(const OperationScope* operation) {
  const std::lock_guard lock(current().mutex);
  return std::exchange(current().operation, operation);
}

}  // namespace

void enter(RunPhase phase) {
  current_phase = phase;
}

RunPhaseScope::RunPhaseScope(RunPhase phase) : outer_(current_phase.exchange(phase)) {}
RunPhaseScope::~RunPhaseScope() {
  current_phase = outer_;
}

OperationScope::OperationScope(const char* name, std::string_view group, std::int64_t bytes)
    : name_(name),
      group_(group),
      unit_(UnitScope::current()),
      phase_(current_phase),
      bytes_(bytes),
      outer_(exchange_operation(this)) {
  heartbeat::begin(name_);
}

OperationScope::~OperationScope() {
  heartbeat::begin(name_);  // what follows is progress too
  exchange_operation(outer_);
}

void OperationScope::check_deadline(std::string_view cause) const {
  if (!watched || waited_.look(most_of_a_gap) < deadline_of(phase_)) return;
  throw Error(
      ExitCode::lost_peer,
      fmt::format("[comm] {} has not completed within {:g} s in phase {}: {}{} (docs/problems.md, \"A rank was lost\")",
                  text(), std::chrono::duration<double>(deadline_of(phase_)).count(), text_of(phase_), cause,
                  operations::on_the_device()));
}

void await(const Event& event, const OperationScope& operation) {
  if (!watched) return event.synchronize();
  while (!event.complete()) {
    sched_yield();
    poll_in_flight();
    operation.check_deadline("the device hangs, or another rank has ended, hangs, or makes other calls");
  }
}

std::string OperationScope::text() const {
  std::string t(name_);
  if (bytes_ > 0) t += fmt::format(" of {} bytes", bytes_);
  if (!group_.empty()) t += fmt::format(" in group {}", group_);
  if (!unit_.empty()) t += fmt::format(" for unit {}", unit_);
  return t;
}

namespace operations {

const char* limit_key(RunPhase phase) {
  return phase_texts[static_cast<std::size_t>(phase)].key;
}

void set_deadlines(const std::array<Duration, phases>& by_phase) {
  for (std::size_t p = 0; p < phases; ++p) deadlines[p] = by_phase[p];
}

void set_longest_gap(Duration gap) {
  most_of_a_gap = gap;
}

bool are_watched() {
  return watched;
}
void set_watched(bool is_watched) {
  watched = is_watched;
}

Duration deadline() {
  return deadline_of(current_phase);
}
Duration longest_gap() {
  return most_of_a_gap;
}

std::string phase_text() {
  return text_of(current_phase);
}

std::string text_around(const std::string& begun_last) {
  const std::unique_lock hold(current().mutex, std::try_to_lock);
  const OperationScope* const operation = hold.owns_lock() ? current().operation : nullptr;
  if (operation == nullptr) return "or after " + begun_last;
  if (operation->name() == begun_last) return operation->text();
  return fmt::format("or after {} within {}", begun_last, operation->text());
}

std::string on_the_device() {
  const std::string in_flight = operations_in_flight();
  return in_flight.empty() ? "" : "; not done on the device: " + in_flight;
}

}  // namespace operations

}  // namespace octet
