#include "src/run_config/checks/validate.h"

#include "src/run_config/checks/checks.h"
#include "src/run_config/options/run_options.h"

namespace octet {

void validate(const RunConfig& config, const Origins& origins) {
  RunConfig copy = config;
  Schema schema;
  declare_options(schema, copy);
  schema.check(origins);
  check_schedule(config, origins);
  check_optimizer(config, origins);
  check_batch(config, origins);
  check_data(config, origins);
  check_parallel(config.parallel, origins);
  check_pipeline(config, origins);
  check_tensor_parallel(config, origins);
  check_names(config, origins);
  check_float8_gather(config, origins);
  check_float8(config, origins);
  check_recompute(config, origins);
  check_attention(config, origins);
  check_wall_time(config, origins);
  check_profile(config, origins);
  check_slow_ranks(config, origins);
  check_checkpoint(config, origins);
  check_device(config, origins);
  check_cuda_choices(config, origins);
  check_nccl(config, origins);
}

}  // namespace octet
