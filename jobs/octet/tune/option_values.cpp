#include "jobs/octet/tune/option_values.h"

#include <boost/program_options.hpp>
#include <ostream>

#include "src/base/options/text.h"

namespace octet::tune {
namespace po = boost::program_options;

std::ostream& operator<<(std::ostream& out, Count count) {
  return out << count.value;
}

void validate(boost::any& out, const std::vector<std::string>& texts, Count*, int) {
  po::validators::check_first_occurrence(out);
  const std::string& text = po::validators::get_single_string(texts);
  std::int64_t value = 0;
  if (!octet::parse(text, value) || value < 1 || value > Count::most) {
    throw po::error_with_option_name(
        fmt::format("%canonical_option% = {}: expected a whole number, 1 to {}", in_quotes(text), Count::most));
  }
  out = Count{static_cast<int>(value)};
}

}  // namespace octet::tune
