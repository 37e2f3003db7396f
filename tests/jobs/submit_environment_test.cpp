// The environment of a cluster's jobs, for a shell.
#include "tests/jobs/submit_fixture.h"

namespace octet::test {
namespace {

/// So that a measurement runs as a job does.
TEST_F(Submit, PrintsTheEnvironmentOfAJobForAShell) {
  const CommandResult r = submit(
      "--cluster ibm-roce --cluster.nics.traffic_class 106 --cluster.environment.variables "
      "'[{name: NCCL_NET_PLUGIN, unset: true, reason: a plugin}, {name: FI_X, value: a b, reason: a space}]' "
      "--print-environment",
      "NCCL_IB_SL=1");
  EXPECT_EQ(r.exit_code, 0) << r.all();
  expect_in("the job inherits a variable of this shell: NCCL_IB_SL = 1", r.err);
  write_bytes(fake / "environment.sh", r.out);
  const CommandResult shell =
      run_command("NCCL_NET_PLUGIN=other bash -c 'eval \"$(cat " + (fake / "environment.sh") +
                  ")\" && echo \"$NCCL_IB_TC,$NCCL_IB_QPS_PER_CONNECTION,$UCX_TLS,$FI_X,${NCCL_NET_PLUGIN-not set}\"'");
  EXPECT_EQ(shell.out, "106,16,tcp,self,sm,a b,not set\n") << shell.all();
}

}  // namespace
}  // namespace octet::test
