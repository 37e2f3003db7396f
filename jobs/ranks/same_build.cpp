#include "jobs/ranks/same_build.h"

#include "jobs/ranks/differences.h"
#include "src/base/content_hash.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/comm/mpi/mpi_communicator.h"

namespace octet {

void require_same_build(const MpiRuntime& mpi, const Build& build) {
  if (mpi.size() == 1) return;
  const auto stream = cpu_device().make_stream();
  const auto control = make_mpi_communicator(*stream, "build");
  require_same_build(*control, mpi.node(), build);
}

void require_same_build(Communicator& control, const std::string& node, const Build& build) {
  const std::string all = fmt::format("{}, {}", build.source, build.made);
  const std::string who = differences(control, node, content_hash(all), all);
  if (who.empty()) return;
  const std::string of_source = differences(control, node, content_hash(build.source), build.source);
  if (!of_source.empty()) {
    throw Error(ExitCode::usage,
                fmt::format("[ranks] the ranks are not of one build, and could not read each other's messages: {}; "
                            "expected the same one on every node: install it where all of them see it, or on each, and "
                            "start again (docs/problems.md, \"The ranks are not of one build\")",
                            of_source),
                true);
  }
  if (control.rank() != 0) return;
  log::warning(
      "the programs of the ranks are of the same source, but not made alike: {}; bits differ from node to node, losses "
      "are the same within rounding",
      who);
}

}  // namespace octet
