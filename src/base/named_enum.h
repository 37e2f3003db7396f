#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace octet {

/// An enum whose values count from 0 without a hole, and beside which a function gives their names in that order:
///
///     enum class Color : std::uint8_t { red, green };
///     constexpr auto names_of(Color) { return std::to_array<std::string_view>({"red", "green"}); }
///
/// By these it is read (Schema::add_choice, JsonReader::choice), written and formatted.
template <typename E>
concept NamedEnum = std::is_enum_v<E> && requires(E value) {
  names_of(value)[0];
};

template <NamedEnum E>
constexpr std::string_view name_of(E value) {
  return names_of(value)[static_cast<std::size_t>(value)];
}

/// The value of that name; nothing where none has it.
template <NamedEnum E>
constexpr std::optional<E> value_named(std::string_view name) {
  const auto names = names_of(E{});
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

/// An option that is true or false, or that the program decides.
enum class AutoBool : std::uint8_t { automatic, yes, no };
constexpr auto names_of(AutoBool) {
  return std::to_array<std::string_view>({"auto", "true", "false"});
}

/// `automatic` where the program is to decide.
constexpr bool decided(AutoBool choice, bool automatic) {
  return choice == AutoBool::automatic ? automatic : choice == AutoBool::yes;
}

}  // namespace octet

template <octet::NamedEnum E>
struct fmt::formatter<E> : fmt::formatter<std::string_view> {
  template <typename Context>
  auto format(E value, Context& context) const {
    return fmt::formatter<std::string_view>::format(octet::name_of(value), context);
  }
};
