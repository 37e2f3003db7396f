#include "checkpoints/format/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

namespace octet::checkpoint {
namespace {

constexpr std::string_view damaged = ".damaged";

}  // namespace

std::string directory_name(std::int64_t step) {
  return fmt::format("{}{:06}", step_prefix, step);
}

std::string temporary_name(std::int64_t step, std::string_view owner) {
  return fmt::format("{}{}{}{}", directory_name(step), owner.empty() ? "" : ".", owner, unfinished_suffix);
}

std::string file_name(int writer) {
  return fmt::format("writer-{:05}.h5", writer);
}

std::optional<std::int64_t> step_of(const std::string& directory) {
  const std::filesystem::path path(directory);
  const std::string name = path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
  if (!name.starts_with(step_prefix)) return std::nullopt;
  std::int64_t step = 0;
  const char* const end = name.data() + name.size();
  const auto [last, error] = std::from_chars(name.data() + step_prefix.size(), end, step);
  // The name of that step and no other spelling of it, so that no step is there twice.
  if (error != std::errc() || last != end || step < 0 || directory_name(step) != name) return std::nullopt;
  return step;
}

bool is_leftover(std::string_view name) {
  return name.starts_with(step_prefix) && name.ends_with(unfinished_suffix);
}

std::string name_aside(const std::string& directory, int count) {
  return fmt::format("{}{}{}", directory, damaged, count == 1 ? "" : fmt::format("{}", count));
}

bool is_set_aside(std::string_view name) {
  return name.starts_with(step_prefix) && name.find(damaged) != name.npos;
}

std::string stored_name(TensorKind kind, std::string_view parameter) {
  return fmt::format("{}/{}", name_of(kind), parameter);
}

std::optional<std::string> parameter_of(TensorKind kind, std::string_view tensor) {
  const std::string prefix = stored_name(kind, "");
  if (!tensor.starts_with(prefix)) return std::nullopt;
  return std::string(tensor.substr(prefix.size()));
}

bool is_tensor_name(std::string_view name) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == ".." || part.find_first_not_of(plain) != part.npos) return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace octet::checkpoint
