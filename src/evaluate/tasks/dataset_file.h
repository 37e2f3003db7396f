#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "src/base/json_reader.h"

namespace octet {

/// Calls read(row, text) for each row of a JSONL file; `text` is its line. Returns XXH3-64 of the file. Usage error
/// that names file and line for what is no JSON object, for a file that cannot be read, and for one without a row.
std::uint64_t read_dataset_file(const std::string& path,
                                const std::function<void(const JsonReader& row, std::string_view text)>& read);
/// The same of its text.
void read_dataset_text(std::string_view text, const std::string& path,
                       const std::function<void(const JsonReader& row, std::string_view text)>& read);

}  // namespace octet
