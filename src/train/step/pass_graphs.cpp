#include "src/train/step/pass_graphs.h"

#include <algorithm>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/metrics/peak.h"
#include "src/profile/timeline.h"
#include "src/train/step/kernel_rates.h"

namespace octet {
namespace {

constexpr std::string_view stand_in = "H100";  // for GPUs whose data sheet is not known

double mean_seconds(const WorkList& work, std::string_view device) {
  const KernelRates rates = kernel_rates(gpu_sheet(device).value_or(*gpu_sheet(stand_in)));
  double seconds = 0;
  work.describe([&](const Work& w) { seconds += kernel_seconds(w, rates); });
  return seconds / static_cast<double>(std::max<std::int64_t>(work.size(), 1));
}

}  // namespace

PassGraphs::PassGraphs(AutoBool wanted, const std::string& obstacle, Stream& stream)
    : wanted_(wanted),
      on_(decided(wanted, stream.device().type() == DeviceType::cuda)),
      decided_(wanted != AutoBool::automatic),
      stream_(stream) {
  if (on_ && !obstacle.empty()) turn_off(obstacle);
}

void PassGraphs::run(const std::function<void()>& pass) {
  if (!on_ || Timeline::recording() != nullptr) return pass();
  Listing listing(stream_, work_);
  pass();
  if (const char* why = listing.end(); why != nullptr) return miss(why);
  if (!decided_) decide();
  if (on_) {
    give();
  } else {
    work_.give(stream_);
  }
}

void PassGraphs::decide() {
  decided_ = true;
  const double seconds = mean_seconds(work_, stream_.device().name());
  const std::string figures =
      fmt::format("a micro-batch has {} launches of {:.0f} us on average by the data sheet, graphs pay below {:.0f}",
                  work_.size(), 1e6 * seconds, 1e6 * pays_below);
  if (seconds >= pays_below) return turn_off(figures);
  log::info("cuda.graphs = {}: on: {}", wanted_, figures);
}

void PassGraphs::give() {
  const auto known = std::ranges::find_if(passes_, [&](const Pass& p) { return p.work == work_; });
  if (known == passes_.end()) {
    work_.give(stream_);
    if (std::ssize(passes_) == most_passes) passes_.pop_back();
    passes_.insert(passes_.begin(), Pass{.work = work_, .graph = nullptr});
    return miss("each differs from those before");
  }
  std::rotate(passes_.begin(), known, known + 1);
  Pass& pass = passes_.front();
  if (pass.graph == nullptr && !make_graph(pass)) return work_.give(stream_);
  pass.graph->launch(stream_);
  ++replayed_;
  credit_ = std::min(credit_ + 1, most_credit);
  misses_ = 0;
}

bool PassGraphs::make_graph(Pass& pass) {
  if (credit_ < replays_a_graph) {
    turn_off(
        fmt::format("passes are of too many kinds: {} graphs were made for {} replays, of late fewer than {} a graph",
                    made_, replayed_, replays_a_graph));
    return false;
  }
  Device& device = stream_.device();
  const std::int64_t before = device.used_bytes();
  try {
    pass.graph = device.make_graph(stream_, pass.work);
  } catch (const Error& error) {
    turn_off(error.what());
    return false;
  }
  ++made_;
  credit_ -= replays_a_graph;
  log::info("cuda.graphs = {}: {} launches of a micro-batch are one graph from now on, which takes {:.1f} MiB", wanted_,
            pass.work.size(), static_cast<double>(device.used_bytes() - before) / 0x1p20);
  return true;
}

void PassGraphs::miss(const char* why) {
  if (++misses_ < most_misses) return;
  turn_off(fmt::format("{} passes in a row could not be replayed: {}", misses_, why));
}

void PassGraphs::turn_off(const std::string& why) {
  on_ = false;
  passes_.clear();
  if (wanted_ == AutoBool::yes) {
    log::shared_warning("cuda.graphs = {}: off: {}", wanted_, why);
  } else {
    log::info("cuda.graphs = {}: off: {}", wanted_, why);
  }
}

}  // namespace octet
