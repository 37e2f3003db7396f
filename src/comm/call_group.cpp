#include "src/comm/call_group.h"

#include <ranges>
#include <utility>
#include <vector>

#include "src/base/error.h"

namespace octet {
namespace {

struct Groups {
  int depth = 0;  ///< of all communicators
  std::vector<CallGroup*> members;
};
thread_local Groups groups;

}  // namespace

CallGroup::~CallGroup() {
  groups.depth -= depth_;
  std::erase(groups.members, this);
}

bool CallGroup::open() {
  return groups.depth > 0;
}

void CallGroup::begin() {
  ++depth_;
  ++groups.depth;
}

void CallGroup::end(const std::string& group) {
  if (depth_ == 0) throw internal_error("comm", "group_end without group_begin in group {}", group);
  --depth_;
  if (--groups.depth > 0) return;
  const std::vector<CallGroup*> members = std::exchange(groups.members, {});  // they may form groups of their own
  for (CallGroup* m : members) m->joined_ = false;
  for (CallGroup* m : members) m->member_.start();
  for (CallGroup* m : members) m->member_.launch();
  for (CallGroup* m : members | std::views::reverse) m->member_.finish();
}

void CallGroup::join() {
  if (std::exchange(joined_, true)) return;
  groups.members.push_back(this);
}

}  // namespace octet
