#include "jobs/run/distribute.h"

#include <algorithm>

#include "src/base/error.h"
#include "src/base/options/text.h"
#include "src/run_config/options/run_options.h"
#include "src/run_config/run_config.h"

namespace octet {
namespace {

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// What options and flags are called; a former name of an option is one too.
class Names {
 public:
  Names(const Schema& schema, const std::vector<std::string>& flags)
      : schema_(schema), flags_(flags), options_(schema.names()) {}

  bool is_flag(const std::string& name) const {
    const Option* const option = schema_.find(name);
    return is_among(flags_, name) || (option != nullptr && option->is_flag());
  }
  bool has(const std::string& name) const {
    return is_among(flags_, name) || is_among(options_, schema_.current_name(name));
  }
  void add_to(std::vector<std::string>& all) const {
    all.insert(all.end(), options_.begin(), options_.end());
    all.insert(all.end(), flags_.begin(), flags_.end());
  }

 private:
  const Schema& schema_;
  const std::vector<std::string>& flags_;
  std::vector<std::string> options_;
};

/// "train.steps" of "--train.steps=5"; empty for a word with one dash but -h, which names nothing.
std::string name_in(const std::string& word) {
  if (word == "-h") return "help";
  return word.starts_with("--") ? word.substr(2, word.find('=') - 2) : "";
}

Error unknown_option(const std::string& word, const Names& own, const Names& run, const std::string& help) {
  std::vector<std::string> known;
  own.add_to(known);
  run.add_to(known);
  const std::string name = word.substr(std::min(word.size(), word.find_first_not_of('-')));
  return usage_error("config", "command line: unknown option {}{} ({})", word,
                     nearest_hint(name.substr(0, name.find('=')), known, "--"), help);
}

}  // namespace

WordsByOwner distribute(const std::vector<std::string>& words, const OwnOptions& options) {
  RunConfig ignored;
  Schema of_run;
  declare_options(of_run, ignored);
  const Names own(options.schema, options.flags), run(of_run, options.flags_of_run);
  WordsByOwner out;
  out.own = out.run = {words.at(0).c_str()};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with('-')) {
      out.file = out.run.size();
      out.run.push_back(word.c_str());
      continue;
    }
    const std::string name = name_in(word);
    if (!own.has(name) && !run.has(name)) throw unknown_option(word, own, run, options.help);
    auto& side = own.has(name) ? out.own : out.run;
    side.push_back(word.c_str());
    const bool is_flag = own.is_flag(name) || run.is_flag(name);
    const bool takes_next = !is_flag && word.find('=') == std::string::npos && i + 1 < words.size();
    if (takes_next && !words[i + 1].starts_with("--")) side.push_back(words[++i].c_str());
  }
  return out;
}

}  // namespace octet
