#include "src/report/logged_step.h"

namespace octet {

LoggedStep logged_step(const StepMetrics& m) {
  return {.step = m.step,
          .loss = m.loss,
          .validation_loss = m.validation_loss,
          .validation_bits_per_byte = m.validation_bits_per_byte,
          .grad_norm = m.grad_norm,
          .lr = m.lr,
          .tokens_per_second = m.tokens_per_second,
          .tflops = m.tflops,
          .mfu = m.mfu,
          .mfu_mixed = m.mfu_mixed,
          .memory_bytes = m.memory_bytes,
          .interval_steps = m.interval_steps,
          .step_seconds = m.step_seconds,
          .data_seconds = m.data_seconds,
          .wall_seconds = wall_seconds(m),
          .non_finite = m.non_finite,
          .restarts = m.restarts};
}

}  // namespace octet
