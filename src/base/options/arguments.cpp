#include "src/base/options/arguments.h"

#include <algorithm>
#include <boost/program_options.hpp>

#include "src/base/options/text.h"
#include "src/base/options/yaml.h"

namespace octet {
namespace {

namespace po = boost::program_options;

constexpr const char* file_key = "configuration file";

po::parsed_options split(const Schema& schema, const std::vector<std::string>& flags,
                         const std::vector<std::string>& words) {
  po::options_description known;
  for (const std::string& flag : flags) known.add_options()(flag.c_str(), "");
  for (const Option& option : schema.options()) {
    known.add_options()(option.name().c_str(), po::value<std::string>(), "");
    if (const std::string former = option.former_name(); !former.empty()) {
      known.add_options()(former.c_str(), po::value<std::string>(), "");
    }
  }
  known.add_options()(file_key, po::value<std::string>(), "");
  po::positional_options_description positional;
  positional.add(file_key, -1);
  using namespace po::command_line_style;
  try {
    // No guessing from prefixes: a name that a later version lengthens must not change its meaning.
    return po::command_line_parser(words)
        .options(known)
        .positional(positional)
        .style(allow_long | long_allow_adjacent | long_allow_next)
        .allow_unregistered()
        .run();
  } catch (const po::error& error) {
    throw usage_error("config", "command line: {}", error.what());
  }
}

Error unknown_option(const Schema& schema, const std::vector<std::string>& flags, const std::string& word) {
  std::vector<std::string> candidates = schema.names();
  candidates.insert(candidates.end(), flags.begin(), flags.end());
  const std::string name =
      word.substr(word.find_first_not_of('-') == std::string::npos ? 0 : word.find_first_not_of('-'));
  return usage_error("config", "command line: unknown option {}{} (--help lists all)", word,
                     nearest_hint(name.substr(0, name.find('=')), candidates, "--"));
}

}  // namespace

Arguments parse_arguments(const Schema& schema, const std::vector<std::string>& flags, int argc,
                          const char* const* argv, const Positional& positional) {
  Arguments out;
  std::map<std::string, std::string> seen;  // present name -> name as given
  for (const auto& option : split(schema, flags, {argv + std::min(argc, 1), argv + argc}).options) {
    const std::string word = option.original_tokens.empty() ? option.string_key : option.original_tokens[0];
    if (option.unregistered) throw unknown_option(schema, flags, word);
    if (option.position_key >= 0) {
      const std::string& file = option.value.at(0);
      if (file == "-h" && std::find(flags.begin(), flags.end(), "help") != flags.end()) {
        out.flags.insert("help");
        continue;
      }
      if (file.starts_with('-')) throw unknown_option(schema, flags, file);
      if (!out.file.empty()) {
        throw usage_error("config", "command line: two {}, {} and {}, expected one{}", positional.plural, out.file,
                          file, positional.hint);
      }
      out.file = file;
      continue;
    }
    const std::string& name = option.string_key;
    const auto [before, is_new] = seen.emplace(schema.current_name(name), name);
    if (!is_new && before->second == name) {
      throw usage_error("config", "command line: --{} is given twice, expected once", name);
    }
    if (!is_new) {
      throw usage_error("config", "command line: --{} and --{} are one option, expected --{} alone", before->second,
                        name, before->first);
    }
    if (std::find(flags.begin(), flags.end(), name) != flags.end()) {
      out.flags.insert(name);
    } else {
      const std::string& value = option.value.at(0);
      if (word == "--" + name && value.starts_with("--")) {  // Boost would take the next option for the value
        throw usage_error(
            "config", "command line: the value of --{0} is missing, found {1}; if that is the value, write '--{0}={1}'",
            name, value);
      }
      out.overrides.emplace_back(name, value);
    }
  }
  return out;
}

void apply(const Arguments& arguments, Schema& schema) {
  if (!arguments.file.empty()) read_yaml_file(schema, arguments.file);
  for (const auto& [name, value] : arguments.overrides) {
    Option& option = *schema.find(schema.current_name(name));
    option.name() == name ? read_argument(option, value) : read_former_argument(option, value);
  }
}

}  // namespace octet
