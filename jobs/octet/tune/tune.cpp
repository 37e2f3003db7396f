// octet tune: what collectives cost on a cluster, and what NCCL should be told; one subcommand a file.
#include <array>

#include "jobs/octet/commands.h"
#include "jobs/octet/tune/tools.h"

namespace octet {
namespace {

constexpr std::array table{
    Command{"explain", "what NCCL chooses for a collective, why, and what speed to expect", tune::run_explain},
    Command{"fit", "measurements into the cluster's tuning file: latencies, rates, choices", tune::run_fit},
    Command{"topology", "what NCCL is told of a node, what is wrong with it; node and network drawn",
            tune::run_topology},
    Command{"placement", "what the choice and the order of nodes cost where links are shared", tune::run_placement},
};

}  // namespace

int run_tune(const std::vector<std::string>& arguments) {
  return run_group("tune", table, "docs/tuning.md shows how they go together.", arguments);
}

}  // namespace octet
