#pragma once

#include <string>

#include "src/tuning/fit/cluster_fit.h"

namespace octet::tune {

/// The groups as a table, constants, choices and notes, as people read them.
void print_text(const ClusterFit& fit);
/// One JSON object on one line: "groups" with what the table shows, "sick", and "tuning", the tuning file.
void print_json(const ClusterFit& fit);

}  // namespace octet::tune
