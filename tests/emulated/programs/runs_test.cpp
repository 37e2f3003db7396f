// octet-train on the emulated GPU, from its start to its exit code: runs that train, save, go on, stop and are refused,
// held against the same runs on the CPU.
#include "tests/jobs/endless_run.h"
#include "tests/jobs/saved.h"

namespace octet::test {
namespace {

const std::string on_gpu = "--device cuda ";
const std::string four_steps = "--train.steps 4 ";
const std::string small = "--train.global_batch 4 --train.micro_batch 1 --train.validation_batches 1 ";
const std::string never_due = "--checkpoint.interval 1000000 ";  // so that the last step's is the only one

/// Each rank has a GPU of its own.
void have_gpus(int ranks) {
  setenv("OCTET_EMULATED_DEVICES", std::to_string(ranks).c_str(), 1);
}

/// As far from the CPU's as jobs/gpu/check.sh allows.
void expect_losses_of_the_cpu(const TrainedRun& run, int ranks, const std::string& options, double tolerance) {
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  const TrainedRun& cpu = finished(ranks, options);
  EXPECT_LT(distance(run.losses(), cpu.losses()), tolerance);
  EXPECT_LT(distance(run.losses("validation_loss"), cpu.losses("validation_loss")), tolerance);
}

struct Case {
  const char* name;
  int ranks;
  std::string options;
  double tolerance = 1e-2;
};

class RunOnTheGpu : public testing::TestWithParam<Case> {};

TEST_P(RunOnTheGpu, HasTheLossesOfTheCpuAndThePlannedMemory) {
  const auto& [name, ranks, options, tolerance] = GetParam();
  have_gpus(ranks);
  const TrainedRun run = train(ranks, on_gpu + small + four_steps + options);
  expect_losses_of_the_cpu(run, ranks, small + four_steps + options, tolerance);
  expect_whole_until(run, 4);
  EXPECT_EQ(run.status()["state"], "finished");
  // "  total   PLANNED   PEAK", in MiB
  const std::string& said = run.result.err;
  const std::size_t table = said.find("memory after the first step:");
  ASSERT_NE(table, std::string::npos) << said;
  double planned = 0, peak = 1;
  ASSERT_EQ(std::sscanf(said.c_str() + said.find("  total", table), " total %lf %lf", &planned, &peak), 2) << said;
  EXPECT_EQ(planned, peak) << said;
}

INSTANTIATE_TEST_SUITE_P(Runs, RunOnTheGpu,
                         testing::Values(Case{"fp32", 1, "--precision fp32", 1e-4}, Case{"bf16", 1, "--precision bf16"},
                                         Case{"float8", 1, "--precision float8 --data.document_mask true"},
                                         Case{"fsdp", 2, "--precision float8"},
                                         Case{"tp", 2, "--precision fp32 --parallel.tp 2", 1e-4},
                                         Case{"pipeline", 2, "--precision fp32 --parallel.pp 2", 1e-4}),
                         [](const auto& one) { return std::string(one.param.name); });

/// A block of compute capability 8.6 or 8.9 has 99 KiB.
TEST(RunOnTheGpu, TrainsWhereABlockHasLessSharedMemory) {
  have_gpus(1);
  setenv("OCTET_EMULATED_SHARED", "101376", 1);
  for (const auto& [precision, tolerance] : {std::pair{"fp32", 1e-4}, {"float8", 1e-2}}) {
    SCOPED_TRACE(precision);
    const std::string options = fmt::format("{}--train.steps 2 --precision {}", small, precision);
    expect_losses_of_the_cpu(train(1, on_gpu + options), 1, options, tolerance);
  }
  unsetenv("OCTET_EMULATED_SHARED");
}

/// On 1 rank and on 2, of which each has saved its part from the memory of its GPU.
TEST(RunOnTheGpu, GoesOnToTheSameBits) {
  for (const int ranks : {1, 2}) {
    SCOPED_TRACE(ranks);
    have_gpus(ranks);
    const std::string same = on_gpu + small + never_due + "--precision float8 --float8.recipe delayed ";
    const TrainedRun first = train(ranks, same + "--train.steps 2");
    ASSERT_EQ(first.result.exit_code, 0) << first.result.all();
    const TrainedRun resumed = train_in(first.directory, ranks, same + four_steps + "--checkpoint.resume must");
    ASSERT_EQ(resumed.result.exit_code, 0) << resumed.result.all();
    const TrainedRun whole = train(ranks, same + four_steps);
    expect_whole_until(resumed, 4);
    EXPECT_EQ(resumed.losses(), whole.losses());
    EXPECT_EQ(resumed.losses("grad_norm"), whole.losses("grad_norm"));
    EXPECT_EQ(resumed.losses("validation_loss").back(), whole.losses("validation_loss").back());
    expect_same_tensors(checkpoints_of(resumed).front(), checkpoints_of(whole).front());
  }
}

/// In float8, where transposed weights are kept on one GPU, let go on two, and not there on the CPU.
TEST(RunOnTheGpu, GoesOnElsewhere) {
  struct Part {
    int ranks;
    std::string device;
  };
  const std::string same = small + never_due + "--precision float8 ";
  for (const auto& [before, after] : {std::pair<Part, Part>{{1, ""}, {2, on_gpu}}, {{2, on_gpu}, {1, on_gpu}}}) {
    SCOPED_TRACE(fmt::format("{} {} -> {} {}", before.ranks, before.device, after.ranks, after.device));
    have_gpus(2);
    const TrainedRun first = train(before.ranks, same + before.device + "--train.steps 2");
    ASSERT_EQ(first.result.exit_code, 0) << first.result.all();
    const TrainedRun run = train_in(first.directory, after.ranks, same + after.device + four_steps);
    expect_whole_until(run, 4);
    ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
    EXPECT_LT(distance(run.losses(), finished(1, small + four_steps + "--precision float8").losses()), 1e-2);
  }
}

TEST(RunOnTheGpu, StopsWhenItIsAskedTo) {
  have_gpus(2);
  EndlessRun endless(on_gpu + small + never_due + "--precision bf16");
  const TrainedRun& run = endless.end_by(SIGUSR1, "1");
  ASSERT_EQ(run.result.exit_code, 75) << run.result.all();
  EXPECT_EQ(run.status()["state"], "stopped");
  EXPECT_EQ(run.status()["reason"], "SIGUSR1");
  const std::int64_t step = run.status()["step"];
  EXPECT_EQ(steps_of(run), std::vector<std::int64_t>{step});
  expect_whole_until(run, step);
}

/// Of two ranks, one's GPU breaks, or hangs; the other one loses it and ends too.
TEST(RunOnTheGpu, EndsWithAGpuThatBreaksOrHangs) {
  have_gpus(2);
  struct End {
    const char *setting, *reason;
    int exit_code, timeout;
  };
  for (const auto& [setting, reason, exit_code, timeout] :
       {End{"OCTET_EMULATED_BREAKS_AT=300", "CUDA: ", 70, 60},
        {"OCTET_EMULATED_HANGS_AT=500", "has not completed within 3 s in phase step (comm.timeout_seconds)", 71, 3}}) {
    SCOPED_TRACE(setting);
    const std::string directory = new_run_directory();
    const std::string rank = fmt::format("{} run.yaml --run.dir {} --train.steps 1000 --comm.timeout_seconds {} {}{}",
                                         octet_train, directory, timeout, on_gpu, small);
    const TrainedRun run{in_workplace(fmt::format("mpiexec -n 1 {} : -n 1 env {} {}", rank, setting, rank)), directory};
    EXPECT_EQ(run.result.exit_code, exit_code) << run.result.all();
    EXPECT_EQ(run.status()["state"], "failed");
    EXPECT_EQ(run.status()["exit_code"], exit_code);
    EXPECT_HAS(run.status()["reason"].get<std::string>(), reason);
  }
}

TEST(RunOnTheGpu, IsRefusedWhereTheDeviceIsTooSmall) {
  have_gpus(1);
  const TrainedRun run{in_workplace("env OCTET_EMULATED_MIB=1030 " + launched(1, "run.yaml --run.dir small " + on_gpu)),
                       "small"};
  EXPECT_EQ(run.result.exit_code, 64);
  EXPECT_HAS(run.result.err, "this run needs ");
  EXPECT_HAS(run.result.err, " and the device has 6.0 MiB free; use more ranks");
}

TEST(RunOnTheGpu, IsRefusedWithMoreRanksThanGpus) {
  have_gpus(1);
  setenv("CUDA_VISIBLE_DEVICES", "GPU-8f", 1);
  const TrainedRun run = train(2, on_gpu + small + four_steps);
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(run.result.exit_code, 64) << run.result.all();
  EXPECT_HAS(run.result.err, "[device] rank 1 on ");
  EXPECT_HAS(run.result.err,
             ": cuda device 1: this process sees 1 device(s), CUDA_VISIBLE_DEVICES is GPU-8f; expected");
  EXPECT_HAS(run.result.err, "start one rank per GPU, without --gpus-per-task and --gpu-bind");
}

/// Two ranks, of which the second one takes itself for one of another node, by Slurm's variables.
TEST(RunOnTheGpu, LeavesOutAHostOnWhichCudaDoesNotStart) {
  have_gpus(1);
  const std::string directory = new_run_directory();
  const std::string rank =
      fmt::format("{} run.yaml --run.dir {} {}{}{}", octet_train, directory, on_gpu, small, four_steps);
  const std::string sick = "env -u MPI_LOCALNRANKS SLURM_STEP_ID=0 SLURMD_NODENAME=sick OCTET_EMULATED_DEVICES=0";
  const TrainedRun run{in_workplace(fmt::format("mpiexec -n 1 {} : -n 1 {} {}", rank, sick, rank)), directory};
  EXPECT_EQ(run.result.exit_code, 76) << run.result.all();
  EXPECT_HAS(run.result.err, "[device] leave out hosts sick: 1 of 2 host(s) cannot use the GPU");
  EXPECT_HAS(run.result.err, "rank 1 on sick: cuda device 0: error 100 of the emulated device");
}

/// The rank that speaks is not the one whose GPU is broken.
TEST(RunOnTheGpu, NamesTheGpuThatCannotBeOpened) {
  have_gpus(2);
  const std::string directory = new_run_directory();
  const std::string rank =
      fmt::format("{} run.yaml --run.dir {} {}{}{}", octet_train, directory, on_gpu, small, four_steps);
  const TrainedRun run{in_workplace(fmt::format("mpiexec -n 1 {} : -n 1 env OCTET_EMULATED_BROKEN=1 {}", rank, rank)),
                       directory};
  EXPECT_EQ(run.result.exit_code, 70) << run.result.all();
  EXPECT_HAS(run.result.err, "[device] rank 1 on ");
  EXPECT_HAS(run.result.err, ": CUDA: choosing a device: error 214 of the emulated device");
  EXPECT_HAS(run.result.err, ", on cuda device 1");
}

/// NCCL is told by all ranks alike, and what the environment says stays.
TEST(RunOnTheGpu, HasNoNvlinkSharpWhereAGpuHasNoMulticast) {
  have_gpus(2);
  const std::string off = "NVLink SHARP is off, since the GPU of rank 1 has no multicast";
  const auto said = [](const std::string& of_both, const std::string& of_last) {
    const std::string directory = new_run_directory();
    const std::string rank =
        fmt::format("{} run.yaml --run.dir {} {}{}--train.steps 2", octet_train, directory, on_gpu, small);
    const CommandResult r =
        in_workplace(fmt::format("mpiexec -n 1 env {} {} : -n 1 env {} {} {}", of_both, rank, of_both, of_last, rank));
    EXPECT_EQ(r.exit_code, 0) << r.all();
    return r.err;
  };
  EXPECT_HAS(said("-u NCCL_NVLS_ENABLE", ""), "NVLink SHARP is on");
  EXPECT_HAS(said("-u NCCL_NVLS_ENABLE", "OCTET_EMULATED_MULTICAST=0"), off);
  EXPECT_EQ(said("NCCL_NVLS_ENABLE=0", "OCTET_EMULATED_MULTICAST=0").find("NVLink SHARP"), std::string::npos);
}

}  // namespace
}  // namespace octet::test
