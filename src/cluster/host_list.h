#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// More hosts than any list means: a range like n[0-999999999] is a mistake, not a cluster.
inline constexpr std::size_t most_hosts = 1 << 16;

/// The hosts of a list in Slurm's form, in its order: "n[1-3,07],m01,rack[1-2]node[1-2]-ib". Numbers keep the width of
/// a range's lower end. With several brackets the last one counts fastest. An empty text is no hosts. Throws a usage
/// error with the text and the place for what is no such list, and for more than most_hosts.
std::vector<std::string> expand_hosts(std::string_view list);

/// The shortest list that expands to these hosts in this order, with one bracket a host.
std::string compress_hosts(const std::vector<std::string>& hosts);

}  // namespace octet
