#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// Strict readers of the whole text; false where it is anything else. Integers are decimal without sign `+`, leading
/// zeros, exponent, fraction or separators. Numbers are finite decimal floating-point. Booleans are true or false.
bool parse(std::string_view text, bool& value);
bool parse(std::string_view text, std::int32_t& value);
bool parse(std::string_view text, std::int64_t& value);
bool parse(std::string_view text, std::uint64_t& value);
bool parse(std::string_view text, double& value);

/// The text in double quotes with YAML (and JSON) escapes.
std::string in_quotes(std::string_view text);
/// The text as a YAML scalar: plain where no reader could take it for anything else, quoted otherwise.
std::string yaml_scalar(std::string_view text);

/// Levenshtein distance in bytes.
std::size_t edit_distance(std::string_view a, std::string_view b);
/// The candidate nearest to `name`: what other programs call by that name ("fp8": float8), else by its whole text or by
/// what follows its last dot; the first of equals. Empty if there are no candidates.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

/// "; nearest: --lr", of the nearest candidate behind `mark`; empty where it has so little in common with `name` that
/// it can hardly have been meant.
std::string nearest_hint(std::string_view name, const std::vector<std::string>& candidates, std::string_view mark = "");

/// "a, b, c".
std::string joined(const std::vector<std::string>& parts, std::string_view separator = ", ");
/// "a, b or c".
std::string alternatives(const std::vector<std::string>& parts);

}  // namespace octet
