#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/cluster/machine/run_program.h"

namespace octet {

/// The machine that is looked at: this one, or a snapshot of another in a folder. In a snapshot files lie below the
/// folder (sys/class/infiniband/...), and what a program printed is the file commands/NAME, by the name that `run` is
/// given, its exit code commands/NAME.exit (none: 0); one that is missing stands for a program that is not there. No
/// program runs then. Any thread.
class Machine {
 public:
  /// `root`: "/" for this machine. Usage error when a snapshot's folder does not exist.
  explicit Machine(std::string root = "/");

  bool is_live() const { return root_ == "/"; }
  /// The text of a file, without white space at its end; nothing when it cannot be read.
  std::optional<std::string> read(const std::string& path) const;
  /// The number that a file begins with; nothing when it begins with none.
  std::optional<long long> read_number(const std::string& path) const;
  /// Names in a folder, sorted; empty when there is no such folder.
  std::vector<std::string> list(const std::string& folder) const;
  /// Runs `command` with a limit of `seconds`; `name` is its file in a snapshot.
  ProgramResult run(const std::string& name, const std::vector<std::string>& command, double seconds = 10) const;
  /// This process' environment, or the snapshot's commands/env.
  const std::map<std::string, std::string>& environment() const { return environment_; }
  /// A variable's value; empty when it is not set.
  std::string variable(const std::string& name) const;
  /// The path at which a file of the machine lies.
  std::string path(const std::string& file) const;
  /// The name that Slurm or the machine itself has for it.
  std::string name() const;

 private:
  std::string root_;
  std::map<std::string, std::string> environment_;
};

}  // namespace octet
