#include "jobs/ranks/library_versions.h"

#include "jobs/ranks/differences.h"
#include "jobs/ranks/gpu_together.h"
#include "kernels/gemm_timing.h"
#include "src/base/content_hash.h"
#include "src/base/log.h"

namespace octet {

void warn_of_other_libraries(Communicator& control, const std::string& node, const std::string& versions) {
  const std::string who = differences(control, node, content_hash(versions), versions);
  if (who.empty() || control.rank() != 0) return;
  log::warning(
      "the libraries that compute are not the same everywhere: {}; bits differ from node to node, losses are the same "
      "within rounding",
      who);
}

void warn_of_other_libraries(Stream& stream, const MpiRuntime& mpi, Communicator& control) {
  if (stream.device().type() == DeviceType::cpu || control.size() == 1) return;
  std::string versions;
  use_gpu_together(control, [&] { versions = library_versions(stream); });
  warn_of_other_libraries(control, mpi.node(), versions);
}

}  // namespace octet
