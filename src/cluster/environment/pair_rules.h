#pragma once

#include <cstdint>
#include <string>

#include "src/cluster/environment/variable_table.h"
#include "src/cluster/machine/finding.h"

namespace octet {

/// What variables have against each other that no row of a table can say: bounds on a product, a least number above the
/// most, devices of another transport, a network that comes with a plugin while plugins are turned off.
Findings pair_findings(const Environment& environment);

/// Whether a value of NCCL_NET is a name of aws-ofi-nccl's network: "AWS Libfabric", or Libfabric and OFI of newer
/// ones.
bool is_libfabric(const std::string& net);

/// Why a traffic class of RoCE looks as if a DSCP had been written in its place; empty where it does not. A class is
/// 4 * DSCP + the two bits of ECN. Reported are common DSCP values (CS, AF, EF, VOICE-ADMIT) that would be an uncommon
/// class: 26 is reported; 32 is not, since it may be either.
std::string traffic_class_problem(std::int64_t value);

}  // namespace octet
