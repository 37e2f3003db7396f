#include "jobs/octet/commands.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <iostream>

namespace octet {
namespace po = boost::program_options;
namespace {

constexpr std::array table{
    Command{"prepare", "text files to token files (Megatron .bin/.idx)", run_prepare},
    Command{"inspect", "what a token file holds: counts, text, entropies", run_inspect},
};

/// Levenshtein's distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::span<const Command> commands() {
  return table;
}

std::string_view nearest_command(std::string_view name) {
  return std::ranges::min_element(table, {}, [&](const Command& c) { return edit_distance(name, c.name); })->name;
}

std::optional<po::variables_map> parse_arguments(const std::vector<std::string>& arguments, std::string_view usage,
                                                 po::options_description options, const char* positional,
                                                 int max_positional) {
  options.add_options()("help,h", "print this text");
  // Whole names only: a guessed abbreviation would change its meaning when an option is added.
  const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  po::positional_options_description places;
  places.add(positional, max_positional);
  po::variables_map values;
  po::store(po::command_line_parser(arguments).options(options).positional(places).style(style).run(), values);
  if (values.contains("help")) {
    std::cout << usage << "\n" << options;
    return std::nullopt;
  }
  po::notify(values);
  return values;
}

}  // namespace octet
