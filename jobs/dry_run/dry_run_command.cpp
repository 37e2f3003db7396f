#include "jobs/dry_run/dry_run_command.h"

#include <algorithm>

#include "jobs/run/distribute.h"
#include "src/base/error.h"
#include "src/base/options/arguments.h"
#include "src/base/options/document.h"
#include "src/run_config/checks/layout.h"

namespace octet {
namespace {

const std::string flag = "dry-run";

void check(const DryRunOptions& o) {
  if (o.ranks == 0) throw usage_error("train", "--dry-run needs the number of ranks of the run: give --ranks N");
  if (o.rank >= o.ranks) throw usage_error("train", "--rank {}: expected one of 0 to {}", o.rank, o.ranks - 1);
  if (!o.cluster.empty() && !o.gpu.empty()) {
    throw usage_error("train", "--cluster {} and --gpu {}: expected one of them", o.cluster, o.gpu);
  }
}

}  // namespace

bool asks_for_dry_run(const std::vector<std::string>& words) {
  return std::ranges::find(words, "--" + flag) != words.end();
}

void refuse_dry_run_options(const std::vector<std::string>& words) {
  DryRunOptions ignored;
  Schema schema;
  declare(schema, ignored);
  for (const std::string& word : words) {
    const std::string option = word.substr(0, word.find('='));
    const bool is_own = option.starts_with("--") && schema.find(option.substr(2)) != nullptr;
    if (is_own || option.starts_with("--cluster.")) {
      throw usage_error("config", "command line: {} is an option of a dry run, expected --{} too", option, flag);
    }
  }
}

DryCommand parse_dry_run(const std::vector<std::string>& words) {
  DryCommand out;
  Schema schema;
  declare(schema, out.options);
  std::vector<std::string> rest = words;
  out.options.overrides = take_profile_overrides(rest);
  const auto [own, run, file] =
      distribute(rest, {.schema = schema, .flags = {flag}, .flags_of_run = command_line_flags});
  apply(parse_arguments(schema, {flag}, static_cast<int>(own.size()), own.data()), schema);
  out.run = parse_command_line(static_cast<int>(run.size()), run.data());
  if (out.run.action != CommandLine::Action::run) return out;
  check(out.options);
  check_overrides(out.options.cluster, out.options.overrides);
  out.run.config = laid_out(out.run.config, out.options.ranks, out.run.origins);
  out.mesh = mesh_shape(out.run.config.parallel);
  return out;
}

}  // namespace octet
