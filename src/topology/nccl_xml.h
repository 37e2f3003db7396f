#pragma once

#include <string>

#include "src/topology/node_topology.h"

namespace octet {

/// NCCL's topology XML: what NCCL_TOPO_FILE gives it and NCCL_TOPO_DUMP_FILE makes it write. `source` is for messages.
/// Elements and attributes that NCCL does not read are left out. Usage errors name file, line, element and attribute.
NodeTopology parse_topology(const std::string& text, const std::string& source);

/// The same form, which NCCL reads (an element a line, no declaration) and parse_topology() reads back. Without
/// host_hash, rank and guid, which NCCL sets itself.
std::string to_nccl_xml(const NodeTopology& topology);

}  // namespace octet
