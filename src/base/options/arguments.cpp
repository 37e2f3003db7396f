#include "src/base/options/arguments.h"

#include <algorithm>
#include <boost/program_options.hpp>

#include "src/base/options/text.h"
#include "src/base/options/yaml.h"

namespace octet {
namespace {

namespace po = boost::program_options;

constexpr const char* file_key = "configuration file";

po::options_description names_of(const Schema& schema, const std::vector<std::string>& flags) {
  po::options_description known;
  for (const std::string& flag : flags) known.add_options()(flag.c_str(), "");
  for (const Option& option : schema.options()) {
    const std::string name = option.name(), former = option.former_name();
    if (option.is_flag()) {
      known.add_options()(name.c_str(), "");
    } else if (option.is_several()) {
      known.add_options()(name.c_str(), po::value<std::vector<std::string>>()->multitoken(), "");
    } else {
      known.add_options()(name.c_str(), po::value<std::string>(), "");
    }
    if (!former.empty()) known.add_options()(former.c_str(), po::value<std::string>(), "");
  }
  known.add_options()(file_key, po::value<std::string>(), "");
  return known;
}

std::vector<po::option> split(const Schema& schema, const std::vector<std::string>& flags,
                              const std::vector<std::string>& words) {
  const po::options_description known = names_of(schema, flags);
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
        .run()
        .options;
  } catch (const po::error& error) {
    throw usage_error("config", "command line: {} (--help lists all)", error.what());
  }
}

bool is_among(const std::vector<std::string>& flags, const std::string& name) {
  return std::ranges::find(flags, name) != flags.end();
}

/// Reads what Boost has split, one option or word after the other.
class Reader {
 public:
  Reader(const Schema& schema, const std::vector<std::string>& flags, const Positional& positional)
      : schema_(schema), flags_(flags), positional_(positional) {}

  void take(const po::option& option) {
    const std::string word = option.original_tokens.empty() ? option.string_key : option.original_tokens[0];
    if (option.unregistered) throw unknown_option(word);
    if (option.position_key >= 0) return take_word(option.value.at(0));
    take_option(option, word);
  }
  /// A value of Positional::option.
  void take_value(const std::string& word) {
    if (words_++ == positional_.most) {
      throw usage_error("config", "command line: {} is one word too many{}", in_quotes(word), positional_.hint);
    }
    const Option& option = *schema_.find(positional_.option);
    if (!option.is_several()) expect_once(option.name());
    out_.overrides.emplace_back(option.name(), word);
  }
  Arguments result() && { return std::move(out_); }

 private:
  Error unknown_option(const std::string& word) const {
    std::vector<std::string> candidates = schema_.names();
    candidates.insert(candidates.end(), flags_.begin(), flags_.end());
    const std::string name = word.substr(std::min(word.size(), word.find_first_not_of('-')));
    return usage_error("config", "command line: unknown option {}{} (--help lists all)", word,
                       nearest_hint(name.substr(0, name.find('=')), candidates, "--"));
  }

  /// A word that belongs to no option.
  void take_word(const std::string& word) {
    if (word == "-h" && is_among(flags_, "help")) {
      out_.flags.insert("help");
      return;
    }
    const bool is_value = !positional_.option.empty() || positional_.most == 0;
    const bool is_standard_input = is_value && word == "-";
    if (word.starts_with('-') && !is_standard_input) throw unknown_option(word);
    if (is_value) return take_value(word);
    if (!out_.file.empty()) {
      throw usage_error("config", "command line: two {}, {} and {}, expected one{}", positional_.plural, out_.file,
                        word, positional_.hint);
    }
    out_.file = word;
  }

  void take_option(const po::option& option, const std::string& word) {
    const std::string& name = option.string_key;
    const Option* const declared = schema_.find(name);
    const bool is_several = declared != nullptr && declared->is_several();
    if (!is_several) expect_once(name);
    if (is_among(flags_, name) || (declared != nullptr && declared->is_flag())) {
      out_.flags.insert(name);
      return;
    }
    const std::string& first = option.value.at(0);
    if (word == "--" + name && first.starts_with("--")) {  // Boost would take the next option for the value
      throw usage_error(
          "config", "command line: the value of --{0} is missing, found {1}; if that is the value, write '--{0}={1}'",
          name, first);
    }
    out_.overrides.emplace_back(name, first);
    for (std::size_t i = 1; i < option.value.size(); ++i) take_further(name, option.value[i]);
  }

  /// A further value of Option::several.
  void take_further(const std::string& name, const std::string& value) {
    if (value.starts_with('-') && value != "-") return take_word(value);
    out_.overrides.emplace_back(name, value);
  }

  void expect_once(const std::string& name) {
    const auto [before, is_new] = seen_.emplace(schema_.current_name(name), name);
    if (is_new) return;
    if (before->second == name) {
      throw usage_error("config", "command line: --{} is given twice, expected once", name);
    }
    throw usage_error("config", "command line: --{} and --{} are one option, expected --{} alone", before->second, name,
                      before->first);
  }

  const Schema& schema_;
  const std::vector<std::string>& flags_;
  const Positional& positional_;
  std::map<std::string, std::string> seen_;  ///< present name -> name as given
  int words_ = 0;
  Arguments out_;
};

/// "--output" of "-o", "--output=file" of "-ofile" or "-o=file"; the word itself where no option has its letter.
std::string with_long_name(const Schema& schema, const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return word;
  const auto option = std::ranges::find_if(schema.options(), [&](const Option& o) { return o.letter() == word[1]; });
  if (option == schema.options().end()) return word;
  const std::string name = "--" + option->name();
  return word.size() == 2 ? name : fmt::format("{}={}", name, word.substr(word[2] == '=' ? 3 : 2));
}

}  // namespace

std::vector<std::string> with_long_names(const Schema& schema, const std::vector<std::string>& words) {
  std::vector<std::string> out = words;
  const auto end = std::ranges::find(out, "--");
  std::transform(out.begin(), end, out.begin(), [&](const auto& word) { return with_long_name(schema, word); });
  return out;
}

Arguments parse_arguments(const Schema& schema, const std::vector<std::string>& flags, int argc,
                          const char* const* argv, const Positional& positional) {
  Reader reader(schema, flags, positional);
  std::vector<std::string> words = with_long_names(schema, {argv + std::min(argc, 1), argv + argc});
  std::vector<std::string> values;  // behind "--", where they may begin as options do
  if (const auto dashes = std::ranges::find(words, "--"); !positional.option.empty() && dashes != words.end()) {
    values.assign(dashes + 1, words.end());
    words.erase(dashes, words.end());
  }
  for (const po::option& option : split(schema, flags, words)) reader.take(option);
  for (const std::string& value : values) reader.take_value(value);
  return std::move(reader).result();
}

void apply(const Arguments& arguments, Schema& schema) {
  if (!arguments.file.empty()) read_yaml_file(schema, arguments.file);
  for (const auto& [name, value] : arguments.overrides) {
    Option& option = *schema.find(schema.current_name(name));
    option.name() == name ? read_argument(option, value) : read_former_argument(option, value);
  }
  for (const std::string& flag : arguments.flags) {
    if (Option* const option = schema.find(flag)) read_argument(*option, "true");
  }
}

void apply_words(const Arguments& arguments, Schema& schema) {
  std::map<std::string, std::vector<std::string>> values;
  for (const auto& [name, value] : arguments.overrides) values[name].push_back(value);
  for (const std::string& flag : arguments.flags) values[flag] = {"true"};
  for (const auto& [name, texts] : values) {
    if (Option* const option = schema.find(name)) read_words(*option, texts);
  }
}

}  // namespace octet
