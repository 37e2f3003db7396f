#pragma once

#include "src/report/page.h"

namespace octet {

/// The files beside this one, and dygraphs where the build found it, as they were when `octet` was built: they are part
/// of the program (embed.cmake writes their definition).
const PageParts& report_parts();

}  // namespace octet
