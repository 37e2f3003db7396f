// octet-train: one rank of a training run. `mpiexec -n N octet-train CONFIG.yaml [--section.key VALUE]...`
#include "jobs/dry_run/dry_run_command.h"
#include "jobs/dry_run/dry_run_text.h"
#include "jobs/rank_main.h"
#include "jobs/ranks/same_build.h"
#include "jobs/train/agreed_command.h"
#include "jobs/train/answers.h"
#include "jobs/train/train_command.h"
#include "jobs/version.h"
#include "src/base/log.h"
#include "src/base/reason.h"
#include "src/base/signal_thread.h"
#include "src/comm/mpi/mpi_runtime.h"
#include "src/comm/watchdog.h"
#include "src/train/run/stop_request.h"

namespace octet {
namespace {

/// What needs ranks, and what is told when there are some.
int run(AgreedCommand& read, MpiRuntime& mpi, const StopSignal& stop) {
  require_same_build(mpi, this_build());
  read.agree();
  const CommandLine& command = read.get();
  if (command.action != CommandLine::Action::run) {
    if (mpi.rank() == 0) fmt::print("{}", answer(command));
    return log::after_output(0);
  }
  return train_rank(command, read.words(), mpi, stop);
}

int main_of(int argc, char** argv) {
  SignalThread signals;  // before there are other threads
  const std::vector<std::string> words(argv, argv + argc);
  if (asks_for_version(words) || asks_for_dry_run(words)) {
    signals.take_user_signal();
    fmt::print("{}", asks_for_dry_run(words) ? dry_run_text(words, answer) : version_text("octet-train"));
    return log::after_output(0);
  }
  // Requests count from here on and until the process is gone, which MPI's end and the libraries' can delay.
  static const auto& stop = *new StopSignal;
  Watchdog watchdog;  // lives until MPI has ended
  AgreedCommand command(argc, argv, watchdog);
  return run_main(argc, argv, [&](MpiRuntime& mpi, int, char**) {
    stop.install_again();
    signals.take_user_signal();
    return run(command, mpi, stop);
  });
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  octet::prepare_rank_process();
  return octet::end_with_reason("octet-train", [&] { return octet::main_of(argc, argv); });
}
