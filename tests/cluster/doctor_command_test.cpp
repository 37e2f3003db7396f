#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "tests/data/support.h"
#include "tests/support/expect_has.h"
#include "tests/support/run_command.h"

namespace octet::test {
namespace {

const std::string doctor = OCTET_BIN_DIR "/octet doctor ";
const std::string fixtures = OCTET_SOURCE_DIR "/tests/cluster/doctor/";

// The machine of the tests, whatever it has: one object on one line, and an exit code that agrees with it.
TEST(DoctorCommand, ThisMachine) {
  const CommandResult r = run_command(doctor + "--json");
  const auto report = nlohmann::json::parse(r.out);
  EXPECT_EQ(std::ranges::count(r.out, '\n'), 1);
  EXPECT_EQ(r.exit_code, report.at("healthy") ? 0 : 76) << r.all();
  bool gpus = false;
  for (const auto& f : report.at("findings")) {
    gpus = gpus || (f.at("check") == "gpu.count" && f.at("state") == "ok");
    const bool of_gpus = f.at("check").get<std::string>().starts_with("gpu.");
    EXPECT_TRUE(gpus || !of_gpus || f.at("state") != "ok") << f;
  }
}

TEST(DoctorCommand, ANodeThatIsNotWhatItsProfileSays) {
  const CommandResult good =
      run_command(doctor + "--cluster ibm-infiniband --run-dir /gpfs/run --root " + fixtures + "good");
  EXPECT_EQ(good.exit_code, 0) << good.all();
  EXPECT_HAS(good.out, "0 warning, 0 bad, 0 not present");
  const CommandResult bad =
      run_command(doctor + "--profile ibm-infiniband --run-dir /gpfs/run --root " + fixtures + "bad");
  EXPECT_EQ(bad.exit_code, 76) << bad.all();
  EXPECT_HAS(bad.out, "bad         gpu.count             7 (NVIDIA H100 80GB HBM3)\n");
  EXPECT_HAS(bad.out, "expected: 8, as ibm-infiniband says\n");
  const CommandResult other = run_command(doctor + "--cluster grand-teton --json --root " + fixtures + "bad");
  EXPECT_EQ(other.exit_code, 76) << other.all();
  EXPECT_FALSE(nlohmann::json::parse(other.out).at("healthy"));
}

TEST(DoctorCommand, AProfileIsChangedAsInEveryCommand) {
  const std::string machine = " --run-dir /gpfs/run --root " + fixtures + "good";
  const CommandResult other = run_command(doctor + "--cluster ibm-infiniband --cluster.gpus.per_node 9" + machine);
  EXPECT_EQ(other.exit_code, 76) << other.all();
  EXPECT_HAS(other.out, "expected: 9, as ibm-infiniband says");
  const CommandResult memory =
      run_command(doctor + "--cluster ibm-infiniband --cluster.nodes.memory_gib=9999" + machine);
  EXPECT_EQ(memory.exit_code, 76) << memory.all();
  EXPECT_HAS(memory.out, "9999");
  EXPECT_HAS(run_command(doctor + "--cluster.nodes.memory_gib 9").err, "expected --cluster NAME");
  for (const std::string command :
       {"tune topology --cluster ibm-infiniband", "tune placement --cluster ibm-infiniband --nodes 8 --size 1M",
        "tune explain --cluster ibm-infiniband --collective all_reduce --size 1M --nodes 8",
        "tune fit none.json --cluster ibm-infiniband"}) {
    const CommandResult r = run_command(fmt::format("{}/octet {} --cluster.nics.gpbs 100", OCTET_BIN_DIR, command));
    EXPECT_EQ(r.exit_code, 64) << r.all();
    EXPECT_HAS(r.err, "unknown key nics.gpbs of a cluster's profile; nearest: nics.gbps");
  }
}

TEST(DoctorCommand, Environment) {
  const CommandResult r = run_command(doctor + "--env --profile ibm-infiniband --root " + fixtures + "bad");
  EXPECT_EQ(r.exit_code, 76) << r.all();
  EXPECT_HAS(r.out, "8 variables are set; NCCL 2.28.5\n");
  EXPECT_HAS(r.out, "bad         NCCL_ALGO                  Tree\n");
  EXPECT_HAS(r.out, "this value is of /etc/nccl.conf: a job has what that file says on its nodes\n");
  const CommandResult alone = run_command(doctor + "--env --root " + fixtures + "bad");
  EXPECT_HAS(alone.out, "; this value is of /etc/nccl.conf\n");
  const CommandResult good = run_command(doctor + "--env --root " + fixtures + "good");
  EXPECT_EQ(good.exit_code, 0) << good.all();
  const CommandResult given = run_command("env -i NCCL_SOCKET_MAGIC=1 " + doctor + "--env --nccl 2.30.7");
  EXPECT_HAS(given.out, "ok          NCCL_SOCKET_MAGIC");
  const CommandResult lost = run_command("env -i NCCL_TOPO_FILE=/nonexistent.xml " + doctor + "--env --nccl 2.28.9");
  EXPECT_EQ(lost.exit_code, 76) << lost.all();
  EXPECT_HAS(lost.out, "/nonexistent.xml: No such file or directory: NCCL goes on without it");
}

// Two tasks as srun starts them on two nodes, the first of which waits for the other.
TEST(DoctorCommand, AllNodesOfAStep) {
  const TempFolder folder;
  const auto task = [&](const char* id, const char* node) {
    return fmt::format("SLURM_STEP_NUM_NODES=2 SLURM_PROCID={} SLURMD_NODENAME={} {} --allocation {}", id, node, doctor,
                       folder / "all");
  };
  const CommandResult r = run_command(task("0", "n1") + " & " + task("1", "n2") + "; wait $!");
  EXPECT_EQ(r.exit_code, run_command(doctor).exit_code) << r.all();
  EXPECT_HAS(r.out, "n1    ");
  EXPECT_HAS(r.out, "n2    ");
  EXPECT_HAS(r.out, "clock.skew");
  const CommandResult again = run_command(doctor + "--allocation " + (folder / "all"));
  EXPECT_EQ(again.out, r.out);
  write_bytes(folder / "all/n3.json", "");
  EXPECT_EQ(run_command(doctor + "--allocation " + (folder / "all")).exit_code, 76);
}

TEST(DoctorCommand, ANodeThatDoesNotReportIsMissed) {
  const TempFolder folder;
  const CommandResult r = run_command(fmt::format(
      "SLURM_STEP_NUM_NODES=2 SLURM_PROCID=0 SLURMD_NODENAME=n1 {} --allocation {} --wait 1", doctor, folder / "all"));
  EXPECT_EQ(r.exit_code, 76) << r.all();
  EXPECT_HAS(r.out, "1 reported");
}

TEST(DoctorCommand, Usage) {
  EXPECT_EQ(run_command(doctor + "--root /no/such/folder").exit_code, 64);
  const test::TempFolder folder;
  std::filesystem::create_symlink("loop", folder / "loop");
  for (const char* option : {"--root ", "--run-dir "}) {
    const CommandResult r = run_command(doctor + option + (folder / "loop"));
    EXPECT_EQ(r.exit_code, 64) << r.all();
    EXPECT_HAS(r.err, "Too many levels of symbolic links");
  }
  EXPECT_EQ(run_command(doctor + "--profile no-such-cluster").exit_code, 64);
  EXPECT_EQ(run_command(doctor + "--nccl 2.28.9").exit_code, 64);
  for (const char* release : {"two", "2", "2.28.9x"}) {
    EXPECT_EQ(run_command(doctor + "--env --nccl " + release).exit_code, 64) << release;
  }
  EXPECT_EQ(run_command(doctor + "--wait 3").exit_code, 64);
  EXPECT_EQ(run_command(doctor + "extra").exit_code, 64);
  EXPECT_EQ(run_command(doctor + "--allocation /no/such/folder").exit_code, 64);
}

}  // namespace
}  // namespace octet::test
