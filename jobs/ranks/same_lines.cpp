#include "jobs/ranks/same_lines.h"

#include <fmt/ranges.h>

#include <cstdint>

#include "jobs/ranks/differences.h"
#include "src/base/content_hash.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/comm/control_exchange.h"
#include "src/run_config/options/run_options.h"

namespace octet {

void require_same_lines(std::string_view what, std::vector<std::string> lines, Communicator& control) {
  const std::uint64_t all = content_hash(fmt::format("{}", fmt::join(lines, "\n")));
  if (differences(control, log::host(), all, "").empty()) return;
  const std::int32_t most = largest(static_cast<std::int32_t>(lines.size()), control);
  lines.resize(static_cast<std::size_t>(most), "nothing");
  for (const std::string& line : lines) {
    const std::string who = differences(control, log::host(), content_hash(line), line);
    if (who.empty()) continue;
    throw Error(ExitCode::usage,
                fmt::format("[ranks] {}: {}; expected the same on every rank (docs/problems.md, \"The ranks do not "
                            "have the same command or files\")",
                            what, who),
                true);
  }
}

std::vector<std::string> option_lines(RunConfig config) {
  Schema schema;
  declare_stored_options(schema, config);
  std::vector<std::string> lines;
  for (const Option& option : schema.options()) {
    if (option.name() != "model") lines.push_back(fmt::format("{} = {}", option.name(), option.text()));
  }
  return lines;
}

}  // namespace octet
