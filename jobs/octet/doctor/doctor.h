#pragma once

#include <string>

#include "src/cluster/doctor/examination.h"

namespace octet {

/// `octet doctor --allocation FOLDER`; the exit code. In a step of several nodes each process examines its node, and
/// process 0 waits for the files of all and prints the table; the others return their own node's exit code.
int examine_allocation(const std::string& folder, bool json, int wait_seconds, const Examination& e);

}  // namespace octet
