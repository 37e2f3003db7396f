#include "jobs/ranks/library_versions.h"

#include "jobs/ranks/differences.h"
#include "src/base/content_hash.h"
#include "src/base/log.h"

namespace octet {

void warn_of_other_libraries(Communicator& hosts, const std::string& node, const std::string& versions) {
  const std::string who = differences(hosts, node, content_hash(versions), versions);
  if (who.empty() || hosts.rank() != 0) return;
  log::warning(
      "the libraries that compute are not the same everywhere: {}; bits differ from node to node, losses are the same "
      "within rounding",
      who);
}

}  // namespace octet
