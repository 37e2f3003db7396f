#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// This machine's name, as the system has it.
std::string host_name();

// How an error says that it is of some hosts alone: a job's script finds them in the message and starts again without.

/// "leave out hosts node-7,node-9: "
std::string leave_out(const std::vector<std::string>& hosts);

/// The hosts of the first such words in the text; none where it has none.
std::vector<std::string> left_out_hosts(std::string_view text);

}  // namespace octet
