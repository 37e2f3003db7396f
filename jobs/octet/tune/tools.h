#pragma once

#include <string>
#include <vector>

namespace octet::tune {

// The subcommands of `octet tune`, one a file. Each gets the arguments behind its name and returns the exit code.

int run_explain(const std::vector<std::string>& arguments);
int run_fit(const std::vector<std::string>& arguments);
int run_topology(const std::vector<std::string>& arguments);
int run_placement(const std::vector<std::string>& arguments);

}  // namespace octet::tune
