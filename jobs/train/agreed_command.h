#pragma once

#include <exception>
#include <string>
#include <vector>

#include "jobs/run/command_line.h"
#include "src/comm/watchdog.h"

namespace octet {

/// The command line, read before MPI comes up, whose coming up has a time limit too. What is wrong with it is told when
/// there are ranks, one of which can.
class AgreedCommand {
 public:
  /// The watchdog gets the limits that the run asks for.
  AgreedCommand(int argc, char** argv, Watchdog& watchdog);
  /// Throws what is wrong with it.
  const CommandLine& get() const;
  /// The words are the same for all ranks. Where only some can read the files that these name, again and again, it is
  /// their hosts' matter and no mistake. Collective.
  void agree();
  const std::vector<std::string>& words() const { return words_; }

 private:
  void read();
  void reread();

  std::vector<std::string> words_;
  Watchdog& watchdog_;
  CommandLine read_;
  std::exception_ptr wrong_;
};

}  // namespace octet
