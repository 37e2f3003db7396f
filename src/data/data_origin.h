#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "src/base/json_reader.h"

namespace octet {

/// How `octet prepare` made token data, which their side file keeps.
struct DataOrigin {
  /// Options and input as text, by the option's name: what is the same for all parts of one data set.
  std::map<std::string, std::string> making{};
  /// A hash of all that the tokens depend on, also which part they are and where the input lay: a call of the same
  /// command would write the same.
  std::uint64_t command = 0;
  bool bos = false, eos = false;  ///< documents begin, and end, with the tokenizer's tokens for that

  bool operator==(const DataOrigin&) const = default;
};

nlohmann::ordered_json json_of(const DataOrigin& origin);
/// Usage error, with the place, for what is no such object.
DataOrigin data_origin_of(const JsonReader& json);

/// "--eos was true and false; --part-size was 1000 and 2000"; empty where nothing differs. What only one of them says
/// is compared with nothing, since another version may not know it.
std::string making_difference(const DataOrigin& a, const DataOrigin& b);

}  // namespace octet
