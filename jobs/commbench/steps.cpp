#include <algorithm>
#include <map>

#include "jobs/commbench/bench_context.h"
#include "src/base/progress.h"
#include "src/train/plan/memory_plan.h"

namespace octet::commbench {
namespace {

Communicator& group_of(Mesh& mesh, const std::string& name) {
  Communicator* const group = mesh.find(name);
  if (group == nullptr) {
    throw internal_error("commbench", "a step has collectives in group \"{}\", which the mesh has not", name);
  }
  return *group;
}

/// Every rank makes the same calls, those of a group and of a kind side by side here.
std::vector<StepCollective> planned(const Context& context, Mesh& mesh) {
  std::vector<StepCollective> all = step_collectives(context.options.run->config, mesh.shape(), mesh.world().rank());
  std::vector<std::string> order;  // of the first of each kind
  const auto place = [&](const StepCollective& c) {
    const std::string kind = c.calls.front().group + " " + c.calls.front().operation;
    if (std::ranges::find(order, kind) == order.end()) order.push_back(kind);
    return std::ranges::find(order, kind) - order.begin();
  };
  for (const StepCollective& c : all) place(c);
  std::ranges::stable_sort(all, {}, place);
  return all;
}

}  // namespace

std::vector<int> members(const MeshShape& shape, const std::string& group, int rank) {
  const MeshGroup* const found = find_group(group, shape);
  if (found == nullptr) throw internal_error("commbench", "the mesh has no group \"{}\"", group);
  return ranks_of(*found, shape, rank);
}

void run_steps(const Context& context, Mesh& mesh) {
  const std::vector<StepCollective> all = planned(context, mesh);
  const int ranks = mesh.world().size();
  for (const StepCollective& c : all) {
    const CommRecord& call = c.calls.front();
    check_memory(context, mesh.world().stream().device(), Exercise::bytes(c.calls, call.ranks),
                 fmt::format("{} of unit {}", call.operation, call.unit));
  }
  context.report.heading(fmt::format("a step of {}: {}", context.options.run->config_file, layout_text(mesh.shape())),
                         true, false);
  std::string group;
  std::map<std::string, double> milliseconds;
  for (const StepCollective& c : all) {
    const CommRecord& call = c.calls.front();
    Communicator& comm = group_of(mesh, call.group);
    const std::vector<int> of_group = members(mesh.shape(), call.group, context.control.rank());
    Row row{.part = "run",
            .group = call.group,
            .groups = ranks / comm.size(),
            .ranks = comm.size(),
            .nodes = context.nodes(of_group),
            .calls = c.calls,
            .times = c.times,
            .measured = {}};
    context.progress(fmt::format("step: {} in {}, {}", row.collective(), call.group, format_bytes(row.bytes())));
    row.measured = measure(comm, nullptr, row.calls, Form::training, context.options.measure,
                           1 + static_cast<std::uint64_t>(of_group.front()) * 1000, context.control);
    context.progress();
    const std::string title = fmt::format("{} in {}: {} group(s) of {} rank(s) on {} node(s)", row.collective(),
                                          row.group, row.groups, row.ranks, row.nodes);
    if (title != group) context.report.comment(group = title);
    context.report.add(row);
    milliseconds[call.group] += static_cast<double>(c.times) * row.measured.ours.median() / 1e3;
  }
  for (const auto& [name, ms] : milliseconds) {
    context.report.comment(fmt::format("{}: {:.2f} ms a step, one after the other", name, ms));
  }
  if (all.empty()) context.report.comment("one rank: a step sends nothing");
}

}  // namespace octet::commbench
