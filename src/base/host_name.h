#pragma once

#include <string>

namespace octet {

/// This machine's name, as the system has it.
std::string host_name();

}  // namespace octet
