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
  /// Where only some ranks can read the files that the words name, again and again, it is their hosts' matter and no
  /// mistake. Usage error of all where what they have read differs (require_same_lines). Collective.
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
