#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/cluster/environment/variable_table.h"

namespace octet {

/// A list of devices or interfaces as NCCL reads it: "=mlx5_0:1,mlx5_3", "^docker,lo". Ports are left out.
struct DeviceList {
  bool exact = false;     ///< `=`: whole names; else prefixes
  bool excluded = false;  ///< `^`: all but these
  std::vector<std::string> names;
};
DeviceList parse_devices(std::string text);
/// Whether the list lets NCCL use the device.
bool takes(const DeviceList& list, const std::string& device);

/// What is wrong with a list of verbs devices as NCCL_IB_HCA has it ("=mlx5_0:1,mlx5_1", "^mlx5_4"); empty where
/// nothing is. Without = a name matches all devices that begin with it: mlx5_1 takes mlx5_10 too. `wanted`: the devices
/// that training should use; empty: not known. At most 32 devices are used.
std::string device_list_problem(const std::string& list, const std::vector<std::string>& wanted);

/// A number as NCCL reads it (ncclLoadParam: strtoll with any base, which skips leading blanks and stops at the first
/// character that is no digit).
struct NcclNumber {
  std::optional<std::int64_t> value;  ///< nothing: NCCL takes its default, as for an empty text or beyond 64 bits
  bool whole = true;                  ///< nothing but blanks stands behind the digits, and there are some
  bool changed = false;  ///< what is left out made another number: a unit (4M), digits (1.5, 08), all of it
};
NcclNumber read_as_nccl(const std::string& text);

/// What the variable's reader expects in place of this value: "0 to 7"; empty where it takes it. Selections are read by
/// parse_selection (selection.h).
std::string value_problem(const Variable& variable, const std::string& value);

/// Says whether a value of the table and one that is set mean the same to their reader: the same integer, or the same
/// text, without regard to case where the reader has none.
bool same_value(const Variable& variable, const std::string& of_table, const std::string& set);

/// The text with ASCII's capitals as small letters.
std::string in_small_letters(std::string text);
/// Says whether the texts are the same but for the case of ASCII letters.
bool same_text(const std::string& a, const std::string& b);

}  // namespace octet
