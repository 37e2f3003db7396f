#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace octet {

/// Calls read(number, row) for each row of a Parquet file whose bytes these are: an object by column, as a line of
/// JSONL has it: texts, numbers, booleans, null, lists, and structs as objects. What JSON has no form for is {TYPE:
/// TEXT}. Arrow reads it. Usage error of `room`, a literal, with the file's name for what is no Parquet or is torn, for
/// two columns of one name, and in a build without Arrow.
void read_parquet_rows(std::string_view bytes, const std::string& path, std::string_view room,
                       const std::function<void(std::int64_t number, const nlohmann::json& row)>& read);

}  // namespace octet
