#include "src/ops/swiglu.h"

#include "src/ops/expect.h"

namespace octet {

void swiglu_forward(OpContext& op, const Tensor& gate, const Tensor& up, const Produced& y) {
  const Expect expect{"swiglu"};
  expect.matrix("gate", gate);
  expect.same("up", up, gate);
  expect.same("y", y.x, gate);
  op.kernels.swiglu_forward(op.stream, {.gate = gate.data,
                                        .up = up.data,
                                        .y = y.x.data,
                                        .dtype = gate.dtype,
                                        .n = gate.elements(),
                                        .columns = gate.shape[1],
                                        .stats = y.stats,
                                        .float8 = y.float8});
}

void swiglu_backward(OpContext& op, const Tensor& gate, const Tensor& up, const Tensor& dy, const Produced& d_gate,
                     const Produced& d_up) {
  const Expect expect{"swiglu backward"};
  expect.matrix("gate", gate);
  expect.same("up", up, gate);
  expect.same("dy", dy, gate);
  expect.same("d_gate", d_gate.x, gate);
  expect.same("d_up", d_up.x, gate);
  op.kernels.swiglu_backward(op.stream, {.gate = gate.data,
                                         .up = up.data,
                                         .dy = dy.data,
                                         .d_gate = d_gate.x.data,
                                         .d_up = d_up.x.data,
                                         .dtype = gate.dtype,
                                         .n = gate.elements(),
                                         .columns = gate.shape[1],
                                         .gate_stats = d_gate.stats,
                                         .up_stats = d_up.stats,
                                         .gate_float8 = d_gate.float8,
                                         .up_float8 = d_up.float8});
}

}  // namespace octet
