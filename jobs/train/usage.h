#pragma once

#include <string>

namespace octet {

/// Text of octet-train --help: how it is started, the sections of its options, its exit codes.
std::string usage_text();
/// Text of octet-train --help TOPIC: the options of a section of the configuration, "dry-run", or "all". Usage error
/// that lists the topics for any other.
std::string usage_text(const std::string& topic);

}  // namespace octet
