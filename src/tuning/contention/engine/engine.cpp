// liboctet-flows.so: blocks on lanes as communications of SimGrid. Nothing else links SimGrid, whose libraries take a
// tenth of a second to load.
#include "src/tuning/contention/engine/engine.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <string>

#include "src/tuning/contention/engine/simgrid_names.h"

namespace octet {
namespace {

namespace sg = simgrid::s4u;

// SimGrid's clock counts seconds to 1e-9: here its second is a microsecond and its byte a thousandth of one.
constexpr double parts = 1e3;

/// CM02 shares links fairly; what it adds for TCP (a window, acknowledgements on the way back) is off. SimGrid is told
/// no latency: the shares of links would depend on it, and a block would wait for the arrival of the one before.
void start_engine(std::unique_ptr<sg::Engine>& engine) {
  std::string name = "octet", quiet = "--log=root.thres:critical";
  std::vector<char*> arguments{name.data(), quiet.data(), nullptr};
  int count = 2;
  engine = std::make_unique<sg::Engine>(&count, arguments.data());
  for (const char* setting : {"network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0",
                              "contexts/stack-size:64", "contexts/guard-size:0"}) {
    sg::Engine::set_config(setting);
  }
}

class Simulator {
 public:
  explicit Simulator(EngineRun& run) : run_(run), lanes_(run.traffic.lanes.size()) {
    start_engine(engine_);
    run_.finish_us.assign(static_cast<std::size_t>(steps_of_longest(run_.traffic)), 0.0);
    make_platform();
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      for (const Feeder& feeder : lane(i).feeders) {
        lanes_[i].arrived.push_back(feeder.lag);
        lanes_[static_cast<std::size_t>(feeder.lane)].followers.push_back({i, lanes_[i].arrived.size() - 1});
      }
    }
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      lanes_[i].actor = simgrid_names::add_actor(*engine_, "lane", lanes_[i].host, [this, i] { send_all(i); });
    }
  }

  void run() { engine_->run(); }

 private:
  struct Follower {
    std::size_t lane, feeder;
  };
  struct State {
    sg::Host* host = nullptr;  // a lane is a host that sends to itself, over the lane's path
    sg::ActorPtr actor;
    std::vector<int> arrived;  // for each feeder: how many steps it lets start
    std::vector<Follower> followers;
    bool waits = false;
  };

  const Lane& lane(std::size_t i) const { return run_.traffic.lanes[i]; }

  void make_platform() {
    sg::NetZone* zone = simgrid_names::add_zone(*engine_, "network");
    std::vector<sg::Link*> links;
    for (std::size_t i = 0; i < run_.traffic.links.size(); ++i) {
      const double rate = run_.traffic.links[i].gbs * 1e3 * parts;
      links.push_back(simgrid_names::add_link(*zone, "link" + std::to_string(i), rate)->seal());
    }
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      sg::Host* host = lanes_[i].host = simgrid_names::add_host(*zone, "lane" + std::to_string(i))->seal();
      std::vector<sg::LinkInRoute> path;
      for (const int link : lane(i).path) path.emplace_back(links[static_cast<std::size_t>(link)]);
      zone->add_bypass_route(host->get_netpoint(), host->get_netpoint(), nullptr, nullptr, path);
    }
    zone->seal();
  }

  bool may_start(std::size_t i, int step) const {
    return std::ranges::all_of(lanes_[i].arrived, [step](int arrived) { return arrived > step; });
  }

  void send_all(std::size_t i) {
    State& self = lanes_[i];
    sg::Mailbox* box = sg::Mailbox::by_name(self.host->get_name());
    const auto size = static_cast<std::uint64_t>(std::max(1.0, std::round(lane(i).bytes * parts)));
    for (int step = 0; step < lane(i).steps; ++step) {
      while (!may_start(i, step)) {
        self.waits = true;
        sg::this_actor::suspend();
      }
      // Sent and received here: Comm::sendto would keep all that is under way in one list and search it.
      const sg::CommPtr sent = box->put_async(this, size);
      box->get<Simulator>();
      sent->wait();
      const double arrival = sg::Engine::get_clock() + lane(i).latency_us;
      double& finish = run_.finish_us[static_cast<std::size_t>(step)];
      finish = std::max(finish, arrival);
      simgrid::kernel::timer::Timer::set(arrival, [this, i] { arrive(i); });
    }
  }

  void arrive(std::size_t i) {
    run_.progress(lane(i).bytes);
    for (const Follower& follower : lanes_[i].followers) {
      State& next = lanes_[follower.lane];
      ++next.arrived[follower.feeder];
      if (!next.waits) continue;
      next.waits = false;
      next.actor->resume();
    }
  }

  EngineRun& run_;
  std::unique_ptr<sg::Engine> engine_;
  std::vector<State> lanes_;
};

}  // namespace
}  // namespace octet

extern "C" __attribute__((visibility("default"))) void octet_run_flows(octet::EngineRun& run) {
  octet::Simulator(run).run();
}
