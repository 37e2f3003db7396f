#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/named_enum.h"

namespace octet::checkpoint {

// What folders, files and tensors of checkpoints are called.

/// "step-000120", and the name under which it is being written, "step-000120.OWNER.tmp". Files are "writer-00003.h5".
std::string directory_name(std::int64_t step);
std::string temporary_name(std::int64_t step, std::string_view owner = {});
std::string file_name(int writer);
inline constexpr const char* manifest_name = "manifest.json";

/// What each of these folders begins with, and what the names of unfinished writes and removals end with.
inline constexpr std::string_view step_prefix = "step-";
inline constexpr std::string_view unfinished_suffix = ".tmp";

/// Step of a committed checkpoint's directory, by its name ("step-000120", with or without a path); none for others.
std::optional<std::int64_t> step_of(const std::string& directory);
/// Whether an unfinished write or removal has left the folder of that name in a run's folder of checkpoints.
bool is_leftover(std::string_view name);

/// The name, with the path before it, under which a damaged checkpoint is kept: "step-000120.damaged", and from the
/// second on, where there are earlier ones, "step-000120.damaged2".
std::string name_aside(const std::string& directory, int count = 1);
/// Whether that is the name, without a path, of one that was set aside so.
bool is_set_aside(std::string_view name);

/// What training keeps of each parameter, in the order of a checkpoint.
enum class TensorKind : std::uint8_t { master, first_moment, second_moment };
inline constexpr std::array tensor_kinds = {TensorKind::master, TensorKind::first_moment, TensorKind::second_moment};
constexpr auto names_of(TensorKind) {
  return std::to_array<std::string_view>({"master", "first_moment", "second_moment"});
}

/// "master/NAME" of a parameter NAME.
std::string stored_name(TensorKind kind, std::string_view parameter);
/// The parameter NAME of "master/NAME"; none where the tensor is of another kind.
std::optional<std::string> parameter_of(TensorKind kind, std::string_view tensor);
/// Names of letters, digits, '_', '-' and '.', in parts between '/': HDF5 paths and JSON keys without surprises.
bool is_tensor_name(std::string_view name);

}  // namespace octet::checkpoint
