#pragma once

#include <string>

namespace octet {

/// What makes its calls when a group ends: a backend of the communicator, or a wrapper around one.
class GroupMember {
 public:
  virtual ~GroupMember() = default;
  /// The outermost group has ended: what was noted goes out now.
  virtual void start() = 0;
  /// Every member has started.
  virtual void launch() {}
  /// Every member has launched; completes what is to be complete when group_end returns.
  virtual void finish() = 0;
};

/// One member's part in the groups of calls. A group belongs to the thread and not to a communicator
/// (Communicator::group_begin): the end of the outermost one ends all that began within. Must be the last member of the
/// class that implements GroupMember.
class CallGroup {
 public:
  explicit CallGroup(GroupMember& member) : member_(member) {}
  /// Groups that an error left open end without their calls.
  ~CallGroup();
  CallGroup(const CallGroup&) = delete;
  CallGroup& operator=(const CallGroup&) = delete;

  /// Calls are to be noted, whichever communicator began the group.
  static bool open();

  void begin();
  /// Ends the group. At the outermost end the members start in the order in which they joined, and finish in the
  /// reverse order: a wrapper joins before what it wraps. Internal error, naming `group`, without begin.
  void end(const std::string& group);
  /// The member has noted a call, or is about to.
  void join();

 private:
  GroupMember& member_;
  int depth_ = 0;
  bool joined_ = false;
};

}  // namespace octet
