#pragma once

#include <string>

#include "src/cluster/machine/finding.h"

namespace octet {

/// What NCCL's own reader makes of the text of a topology or graph file, which is no whole XML parser: it stops at a
/// declaration, a tab or a line break between attributes, an element that is not as it expects, values of 255 bytes and
/// more, and more than 255 elements (4,095 in a graph). NCCL 2.28.9-1, src/graph/xml.cc, xml.h, topo.h. The text is
/// well-formed XML. `source` is for messages.
Findings lint_format(const std::string& text, const std::string& source);

}  // namespace octet
