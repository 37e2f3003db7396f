#include "jobs/commbench/measure.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "src/comm/operation.h"
#include "src/train/start/reporting_failure.h"

namespace octet::commbench {
namespace {

/// The largest of all ranks' values, at each place. fp32 has more digits than a clock.
std::vector<double> largest_of(const std::vector<double>& mine, Communicator& control) {
  std::vector<float> values(mine.begin(), mine.end());
  control.all_reduce(values.data(), static_cast<std::int64_t>(values.size()), DType::f32, ReduceOp::max);
  return {values.begin(), values.end()};
}

/// Moments on a stream; on a CPU, where a call is done when it returns, those of its clock.
class Marks {
 public:
  Marks(Stream& stream, std::size_t most) : stream_(stream) {
    for (std::size_t i = 0; i < most; ++i) events_.push_back(stream.device().make_timing_event());
  }
  void set() { stream_.record(*events_[used_++]); }
  void wait() const {
    const OperationScope operation("wait for the device");
    stream_.synchronize();
  }
  double us_between(std::size_t a, std::size_t b) const { return 1e6 * events_[b]->seconds_since(*events_[a]); }

 private:
  Stream& stream_;
  std::vector<std::unique_ptr<Event>> events_;
  std::size_t used_ = 0;
};

/// Checks one pass over `comm`.
std::int64_t verify(Exercise& exercise, Communicator& comm, std::uint64_t seed, Communicator& control) {
  Pattern pattern(comm.size(), seed);
  exercise.fill(pattern);
  control.barrier();
  exercise.run(comm);
  return exercise.count_wrong(pattern);
}

std::int64_t sum_of_all(std::int64_t mine, Communicator& control) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(control.size()));
  control.all_gather(&mine, all.data(), sizeof mine, DType::u8);
  std::int64_t sum = 0;
  for (const std::int64_t wrong : all) sum += wrong;
  return sum;
}

/// Alternates between the communicators; one Timing each.
std::vector<Timing> time_calls(Exercise& exercise, const std::vector<Communicator*>& comms, std::int64_t iterations,
                               Communicator& control) {
  const std::size_t rounds = static_cast<std::size_t>(iterations), kinds = comms.size();
  Marks marks(comms.front()->stream(), rounds * kinds + 1);
  control.barrier();
  marks.set();
  for (std::size_t i = 0; i < rounds; ++i) {
    for (Communicator* comm : comms) {
      exercise.run(*comm);
      marks.set();
    }
  }
  marks.wait();
  std::vector<Timing> out;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    std::vector<double> us(rounds + 1, 0.0);  // and their sum
    for (std::size_t i = 0; i < rounds; ++i) {
      const std::size_t end = i * kinds + kind + 1;
      us[i] = marks.us_between(end - 1, end);
      us[rounds] += us[i];
    }
    us = largest_of(us, control);
    const double average = us.back() / static_cast<double>(rounds);
    us.pop_back();
    out.push_back(timing_of(std::move(us), average));
  }
  return out;
}

/// Between `comms`, the one to measure and perhaps one to compare with.
Measured measure_in(Exercise& exercise, const std::vector<Communicator*>& comms, const MeasureSettings& settings,
                    std::uint64_t seed, Communicator& control) {
  Measured out;
  out.checked = settings.check > 0;
  std::int64_t wrong = 0;
  const auto compare = [&] {
    for (std::int64_t pass = 0; pass < settings.check; ++pass) {
      for (Communicator* c : comms) wrong += verify(exercise, *c, seed++, control);
    }
  };
  if (out.checked) {
    compare();
  } else {
    Pattern pattern(comms.front()->size(), seed);
    exercise.fill(pattern);  // numbers that take no longer than others to add
  }

  double all = 0;  // of one round
  for (const Timing& first : time_calls(exercise, comms, 1, control)) all += std::max(first.us.front(), 0.01);
  out.first_us = all;
  const auto fitting = [&](std::int64_t wanted, double part) {
    const double fit = part * settings.row_seconds * 1e6 / all;
    return std::clamp<std::int64_t>(fit > 1e9 ? wanted : static_cast<std::int64_t>(fit), 1, wanted);
  };
  if (settings.warmup > 0) time_calls(exercise, comms, fitting(settings.warmup, 0.2), control);
  const std::vector<Timing> timings = time_calls(exercise, comms, fitting(settings.iterations, 0.8), control);
  out.ours = timings.front();
  if (comms.size() > 1) out.plain = timings.back();

  compare();
  out.wrong = sum_of_all(wrong, control);
  return out;
}

}  // namespace

double Timing::at(double part) const {
  if (us.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(us.size())));
  return us[std::clamp<std::size_t>(rank, 1, us.size()) - 1];
}

Timing timing_of(std::vector<double> us, double average_us) {
  std::ranges::sort(us);
  return {std::move(us), average_us};
}

Measured measure(Communicator& comm, Communicator* plain, const std::vector<CommRecord>& calls, Form form,
                 const MeasureSettings& settings, std::uint64_t seed, Communicator& control) {
  std::vector<Communicator*> comms{&comm};
  if (plain != nullptr) comms.push_back(plain);
  Exercise exercise(comm, calls, form);
  // Its memory of the host is freed behind the device's work, which may wait for a peer for ever.
  const bool on_gpu = comm.stream().device().type() == DeviceType::cuda;
  return reporting_failure({.control = control, .on_gpu = on_gpu},
                           [&] { return measure_in(exercise, comms, settings, seed, control); });
}

}  // namespace octet::commbench
