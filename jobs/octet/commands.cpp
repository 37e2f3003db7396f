#include "jobs/octet/commands.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <iostream>

#include "src/base/options/text.h"

namespace octet {
namespace po = boost::program_options;
namespace {

constexpr std::array table{
    Command{"prepare", "text files to token files (Megatron .bin/.idx)", run_prepare},
    Command{"inspect", "what a token file holds: counts, text, entropies", run_inspect},
    Command{"report", "runs as one HTML page of plots", run_report},
    Command{"checkpoint", "list, check, compare, convert and remove checkpoints", run_checkpoint},
};

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
