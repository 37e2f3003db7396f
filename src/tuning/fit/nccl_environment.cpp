#include "src/tuning/fit/nccl_environment.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

namespace octet {
namespace {

constexpr std::string_view loaded_a_tuner = "Successfully loaded external tuner plugin ";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// The list that counts for the collective: its own, else the one without a prefix; empty: neither.
std::string_view list_for(std::string_view value, Collective collective) {
  std::string_view general;
  for (const std::string_view part : split(value, ';')) {
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) {
      general = part;
    } else if (parse_collective(part.substr(0, colon)) == collective) {
      return part.substr(colon + 1);
    }
  }
  return general;
}

template <class Enum>
std::optional<Enum> only_one(std::string_view value, Collective collective, Enum (*parse)(std::string_view)) {
  std::string_view list = list_for(value, collective);
  if (list.empty()) return std::nullopt;
  const bool excludes = list.front() == '^';
  if (excludes) list.remove_prefix(1);
  const std::vector<std::string_view> names = split(list, ',');
  std::optional<Enum> found;
  for (const std::string_view name : names) found = parse(name);
  return excludes || names.size() != 1 ? std::nullopt : found;
}

/// The word behind `key`, without quotes; empty where the line sets it to nothing. None: the line does not set it.
std::optional<std::string> value_in(std::string_view line, std::string_view key) {
  if (line.find("unset " + std::string(key)) != std::string_view::npos) return "";
  for (const std::string_view means : {std::string_view("="), std::string_view(" set by environment to ")}) {
    const std::size_t at = line.find(std::string(key) + std::string(means));
    if (at == std::string_view::npos) continue;
    std::string_view word = line.substr(at + key.size() + means.size());
    if (!word.empty() && (word.front() == '"' || word.front() == '\'')) {
      word = word.substr(1, word.find(word.front(), 1) - 1);
    } else {
      word = word.substr(0, word.find_first_of(" \t\"'"));
    }
    while (!word.empty() && (word.back() == '.' || word.back() == ';')) word.remove_suffix(1);
    if (word.starts_with('$')) return std::nullopt;  // a script's text, not what it did
    return std::string(word);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Algorithm> forced_algorithm(std::string_view value, Collective collective) {
  return only_one<Algorithm>(value, collective, parse_algorithm);
}

std::optional<Protocol> forced_protocol(std::string_view value, Collective collective) {
  return only_one<Protocol>(value, collective, parse_protocol);
}

std::string tuner_of(const ForcedByEnvironment& environment) {
  std::string plugin = environment.tuner_plugin;
  std::transform(plugin.begin(), plugin.end(), plugin.begin(), [](unsigned char c) { return std::tolower(c); });
  if (plugin == "none") return "";
  if (!plugin.empty()) return "NCCL_TUNER_PLUGIN=" + environment.tuner_plugin;
  if (!environment.tuning_file.empty()) return "OCTET_TUNING_FILE=" + environment.tuning_file;
  return environment.loaded_tuner.empty() ? "" : "the tuner plugin " + environment.loaded_tuner;
}

bool note_environment(std::string_view line, ForcedByEnvironment& environment) {
  const std::pair<std::string_view, std::string*> variables[] = {{"NCCL_ALGO", &environment.algorithm},
                                                                 {"NCCL_PROTO", &environment.protocol},
                                                                 {"NCCL_TUNER_PLUGIN", &environment.tuner_plugin},
                                                                 {"OCTET_TUNING_FILE", &environment.tuning_file}};
  bool said = false;
  for (const auto& [name, held] : variables) {
    if (line.find(name) == std::string_view::npos) continue;
    const auto value = value_in(line, name);
    if (value) *held = *value, said = true;
  }
  if (const std::size_t at = line.find(loaded_a_tuner); at != std::string_view::npos) {
    environment.loaded_tuner = line.substr(at + loaded_a_tuner.size());
    said = true;
  }
  return said;
}

}  // namespace octet
