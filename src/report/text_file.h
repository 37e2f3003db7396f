#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace octet {

/// The whole file. Usage error where it is missing or cannot be read.
std::string read_text_file(const std::string& path);

/// The file as JSON. Usage error with file and line where it is missing, cannot be read or is no JSON.
nlohmann::json read_json(const std::string& path);

}  // namespace octet
