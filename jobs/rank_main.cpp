#include "jobs/rank_main.h"

#include "checkpoints/format/file_locks.h"
#include "jobs/ranks/same_build.h"
#include "jobs/version.h"
#include "src/base/log.h"
#include "src/base/reason.h"
#include "src/base/size_limit.h"
#include "src/comm/nccl_process.h"
#include "src/device/hardware_queues.h"

namespace octet {

void prepare_rank_process() {
  take_size_limits_as_errors();
  checkpoint::turn_file_locks_off();
  prepare_process_for_nccl();
  ask_for_hardware_queues();
}

int rank_main(std::string_view program, int argc, char** argv, const RankBody& body) {
  prepare_rank_process();
  if (asks_for_version({argv, argv + argc})) {
    fmt::print("{}", version_text(program));
    return log::after_output(0);
  }
  return end_with_reason(program, [&] {
    Watchdog watchdog;  // lives until MPI has ended
    return run_main(argc, argv, [&](MpiRuntime& mpi, int n, char** arguments) {
      require_same_build(mpi, this_build());
      return body(watchdog, mpi, n, arguments);
    });
  });
}

}  // namespace octet
