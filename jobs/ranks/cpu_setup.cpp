#include "jobs/ranks/cpu_setup.h"

#include <omp.h>

#include <algorithm>
#include <cstdlib>

#include "kernels/cpu_settings.h"
#include "src/base/usable_cores.h"
#include "src/device/device.h"

namespace octet {

std::string set_up_cpu(const CpuConfig& config, int ranks_on_same_cores) {
  if (config.threads > 0) {
    omp_set_num_threads(static_cast<int>(config.threads));
  } else if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    omp_set_num_threads(std::max(1, usable_cores() / ranks_on_same_cores));
  }
  cpu::set_gemm_input(config.gemm);
  return fmt::format("{}, {} thread(s) a rank, GEMM input {}", cpu_device().name(), omp_get_max_threads(),
                     cpu::describe_gemm_input());
}

}  // namespace octet
