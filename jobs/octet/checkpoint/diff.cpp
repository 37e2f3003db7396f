#include "checkpoints/tools/compare_checkpoints.h"

#include <algorithm>

#include "jobs/octet/checkpoint/tool.h"
#include "jobs/octet/commands.h"
#include "src/base/log.h"
#include "src/base/progress.h"

namespace octet::tool {
namespace {

using checkpoint::TensorDifference;
using Kind = TensorDifference::Kind;

constexpr std::string_view diff_usage =
    "usage: octet checkpoint diff A B [OPTIONS]\n\n"
    "Compares two checkpoints tensor by tensor, whatever the layouts that wrote them: identical to the bit, or the\n"
    "number of elements that differ, the largest |a - b|, and the norm of a - b, alone and over that of b. Both are\n"
    "verified first.\n"
    "Exit code: 0 all tensors are identical, 1 some are not.\n";

std::string text_of(const TensorDifference& d) {
  switch (d.kind) {
    case Kind::identical:
      return "identical";
    case Kind::form:
      return "another dtype or shape";
    case Kind::only_a:
      return "only in A";
    case Kind::only_b:
      return "only in B";
    case Kind::values:
      break;
  }
  return fmt::format("{} differ, max {:.6g}, norm {:.6g}, relative {:.3g}", d.elements, d.max_abs, d.norm,
                     d.norm_b > 0 ? d.norm / d.norm_b : d.norm);
}

/// What of the runs' states is not the same, for people; it does not count for the exit code.
void print_states(const checkpoint::RunState& a, const checkpoint::RunState& b) {
  const auto line = [](const char* what, const auto& in_a, const auto& in_b) {
    if (in_a != in_b) log::out("{:<12} {} in A, {} in B", what, in_a, in_b);
  };
  line("step", a.step, b.step);
  line("loss", a.loss, b.loss);
  line("seed", a.seed, b.seed);
  line("data", fmt::format("{:016x}", a.data_fingerprint), fmt::format("{:016x}", b.data_fingerprint));
  line("layout", a.layout, b.layout);
  line("program", a.program, b.program);
  if (a.config != b.config) log::out("{:<12} differs", "config");
}

}  // namespace

int run_diff(const std::vector<std::string>& arguments) {
  std::vector<std::string> paths;
  int threads = 0;
  bool brief = false;
  Schema schema;
  schema.add("checkpoint", paths).required().several().help("Two checkpoints; a run stands for its newest.");
  schema.add_flag("brief", brief).help("Leave identical tensors out.");
  add_threads(schema, threads);
  if (!parse_words(arguments, diff_usage, schema, "checkpoint", 2)) return 0;
  if (paths.size() != 2) throw usage_error("octet", "diff: {} checkpoint given; expected two", paths.size());

  OpenCheckpoint a, b;
  std::vector<TensorDifference> found;
  const auto open_and_compare = [&] {
    a = open_verified(paths[0], hashing_threads(threads));
    b = open_verified(paths[1], hashing_threads(threads));
    Progress progress("comparing", bytes_of(a.manifest));
    found = checkpoint::compare(a.directory, a.manifest, b.directory, b.manifest,
                                [&](std::int64_t bytes) { progress.advance(bytes); });
  };
  while_run_prunes(paths[0], [&] { while_run_prunes(paths[1], open_and_compare); });
  print_states(a.manifest.state, b.manifest.state);
  std::size_t width = 0;
  for (const TensorDifference& d : found) width = std::max(width, d.name.size());
  for (const TensorDifference& d : found) {
    if (!brief || d.kind != Kind::identical) log::out("{:<{}}  {}", d.name, width, text_of(d));
  }
  const auto identical = std::ranges::count(found, Kind::identical, &TensorDifference::kind);
  log::out("{} of {} tensors identical", identical, found.size());
  return identical == static_cast<std::int64_t>(found.size()) ? 0 : 1;
}

}  // namespace octet::tool
