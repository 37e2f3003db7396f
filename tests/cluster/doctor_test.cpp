#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "src/cluster/doctor/allocation.h"
#include "src/cluster/doctor/hca.h"
#include "src/cluster/doctor/node_report.h"
#include "src/cluster/machine/known_versions.h"
#include "tests/cluster/doctor_support.h"
#include "tests/data/support.h"

namespace octet {
namespace {

using test::Changed;
using test::examine_snapshot;
using test::expected_node;
using test::fixtures;
using test::lines_of_check;
using test::TempFolder;
using test::write_bytes;

TEST(Doctor, AGoodNodeIsAllOk) {
  const ClusterProfile profile = expected_node();
  for (const Finding& f : examine_snapshot(fixtures + "good", &profile)) {
    EXPECT_EQ(f.state, FindingState::ok) << f.check << ": " << f.seen;
  }
}

TEST(Doctor, EveryCheckSeesWhatIsWrongWithABadNode) {
  const ClusterProfile profile = expected_node();
  const Findings findings = examine_snapshot(fixtures + "bad", &profile);
  const std::pair<const char*, const char*> expected[] = {
      {"gpu.count", "bad: 7 (NVIDIA H100 80GB HBM3)\n"},
      {"gpu.memory", "warning: GPU 4: 61.3 of 79.6 GiB are taken\n"},
      {"gpu.mig", "bad: GPU 6: MIG is on\n"},
      {"gpu.ecc", "bad: GPU 3: 2 uncorrected\n"},
      {"gpu.remapped_rows", "bad: 00000000:4E:00.0: a row waits for its remapping\n"},
      {"gpu.clocks", "bad: GPU 5: thermal slowdown by hardware\n"},
      {"gpu.fabric", "bad: GPU 1: In Progress\n"},
      {"gpu.xid",
       "ok: Xid 13, exception in a kernel, on 0000:1b:00 (1x): the GPU is well\n"
       "ok: Xid 45, preemptive cleanup, on 0000:d1:00 (1x): the GPU is well\n"
       "warning: Xid 63, a row of memory is to be remapped, on 0000:4e:00 (1x)\n"
       "bad: Xid 79, GPU has fallen off the bus, on 0000:d1:00 (1x)\n"
       "warning: Xid 999, see the catalog, on 0000:29:00 (1x)\n"},
      {"gpu.nvlink", "bad: GPU 2: 16 up, 2 down\n"},
      {"hca.count", "bad: without mlx5_7: 7 (mlx5_0, mlx5_1, mlx5_2, mlx5_3, mlx5_4, mlx5_5, mlx5_6)\n"},
      {"hca.state", "bad: mlx5_4 is DOWN\n"},
      {"hca.rate", "bad: mlx5_2: 200 Gb/sec (2X NDR)\n"},
      {"hca.errors", "warning: mlx5_6 symbol_error 31\n"},
      {"hca.link", "bad: mlx5_4 is Polling, mlx5_5 has found no subnet manager\n"},
      {"net.frontend", "bad: no eth0; this node has ens3, lo\n"},
      {"pci.acs", "bad: on, on 1 bridges: 17:01.0\n"},
      {"pci.gpu_direct", "bad: no nvidia_peermem; closed kernel modules, Linux 5.4.0\n"},
      {"versions.driver", "warning: 565.57.01: programs built with CUDA 13 do not start\n"},
      {"versions.nccl", "bad: 2.28.5: operations of main and proxy thread can change places, which hangs large jobs\n"},
      {"limits.locked_memory", "bad: 65536 bytes\n"},
      {"limits.stack", "warning: unlimited\n"},
      {"limits.open_files", "warning: 1024 at most\n"},
      {"limits.shared_memory", "warning: 0.1 GiB free\n"},
      {"memory.size", "bad: 1007 GiB\n"},
      {"cpu.cores", "bad: 48 CPUs\n"},
      {"memory.huge_pages", "warning: transparent: never\n"},
      {"cpu.near_devices",
       "warning: NUMA node 0: 4 GPUs, 24 CPUs of this process; NUMA node 1: 4 GPUs, 0 CPUs of this process\n"},
      {"hca.near_gpus", "warning: NUMA node 0: 4 GPUs, 7 cards; NUMA node 1: 4 GPUs, 0 cards\n"},
      {"clock", "warning: 2.730041122 seconds slow of NTP time\n"},
      {"launch.mpi", "bad: Slurm offers none, pmix, pmix_v4\n"},
      {"storage.space", "bad: 0.5 GiB free on /gpfs for /gpfs/run\n"},
      {"storage.locks",
       "warning: flock in /gpfs/run ended with 65: flock: /gpfs/run/.octet-doctor: Function not implemented\n"},
  };
  for (const auto& [check, text] : expected) EXPECT_EQ(lines_of_check(findings, check), text) << check;
  for (const Finding& f : findings) {
    const bool is_fault = f.state == FindingState::bad || f.state == FindingState::warning;
    EXPECT_EQ(is_fault, !f.expected.empty()) << f.check;
    EXPECT_EQ(is_fault, !f.advice.empty()) << f.check;
  }
}

TEST(Doctor, CoresCardsAndGpusAreComparedWhereTheKernelSaysWhereTheyAre) {
  const ClusterProfile profile = expected_node();
  const std::string gpus = "sys/bus/pci/devices/0000:dc:00.0/", card = "sys/class/infiniband/mlx5_0/device/numa_node";
  Changed unknown;
  unknown.with(gpus + "numa_node", "-1\n");
  for (const char* check : {"cpu.near_devices", "hca.near_gpus"}) {
    EXPECT_EQ(unknown.check(check, &profile), "not present: the kernel does not say which NUMA node a GPU is of\n");
  }
  EXPECT_EQ(Changed().with(card, "-1\n").check("hca.near_gpus", &profile),
            "not present: the kernel does not say which NUMA node a card is of\n");
  // A display of another maker is none of ours.
  EXPECT_EQ(unknown.with(gpus + "vendor", "0x1a03\n").check("hca.near_gpus", &profile),
            "ok: NUMA node 0: 4 GPUs, 4 cards; NUMA node 1: 3 GPUs, 4 cards\n");
  // Which part of a node a job has, nothing says.
  ClusterProfile part = profile;
  part.gpus.per_node = 4;
  for (const char* check : {"cpu.near_devices", "hca.near_gpus"}) {
    EXPECT_EQ(Changed().check(check, &part), "not present: the job has 4 of the node's 8 GPUs\n");
  }
  // A card that the profile does not use is near nobody.
  ClusterProfile half = profile;
  half.nics.hca = {"mlx5_0", "mlx5_1"};
  EXPECT_EQ(Changed().check("hca.near_gpus", &half),
            "warning: NUMA node 0: 4 GPUs, 2 cards; NUMA node 1: 4 GPUs, 0 cards\n");
}

TEST(Doctor, ThereAreSocketsForAllRanksOfTheJob) {
  const auto with = [](const std::string& hard, const std::string& environment) {
    Changed node;
    node.with("proc/self/limits", "Max open files            256                  " + hard + "      files\n");
    node.with("commands/env", environment);
    return node.check("limits.open_files", nullptr);
  };
  EXPECT_EQ(with("2047", ""), "warning: 2047 at most\n");  // 1,024 and 2 for each of 512 ranks
  EXPECT_EQ(with("2048", ""), "ok: 2048 at most\n");
  EXPECT_EQ(with("2048", "SLURM_NTASKS=513\n"), "warning: 2048 at most\n");
  EXPECT_EQ(with("2047", "SLURM_NTASKS=8\n"), "ok: 2047 at most\n");
  EXPECT_EQ(with("unlimited", "SLURM_NTASKS=100000\n"), "ok: unlimited at most\n");
}

/// 8 communicators of NCCL's at 232 x 2048 x 72 bytes a rank and half a gibibyte, in whole gibibytes.
TEST(Doctor, ThereIsSharedMemoryForTheCommunicatorsOfAllRanks) {
  const auto with = [](int kibibytes, std::size_t gpus, const ClusterProfile* profile) {
    Changed node;
    const std::string driver = "proc/driver/nvidia/gpus/";
    const std::vector<std::string> there = Machine(fixtures + "good").list("/" + driver);
    for (std::size_t i = gpus; i < there.size(); ++i) node.without(driver + there[i]);
    node.with("commands/df-shm", fmt::format("Filesystem 1024-blocks Used Available Capacity Mounted on\n"
                                             "tmpfs {0} 0 {0} 0% /dev/shm\n",
                                             kibibytes));
    return node.check("limits.shared_memory", profile);
  };
  constexpr int gibibyte = 1 << 20;
  EXPECT_EQ(with(3 * gibibyte - 1, 8, nullptr), "warning: 3.0 GiB free\n");
  EXPECT_EQ(with(3 * gibibyte, 8, nullptr), "ok: 3.0 GiB free\n");
  EXPECT_EQ(with(2 * gibibyte - 1, 4, nullptr), "warning: 2.0 GiB free\n");
  EXPECT_EQ(with(2 * gibibyte, 4, nullptr), "ok: 2.0 GiB free\n");
  EXPECT_EQ(with(gibibyte, 1, nullptr), "ok: 1.0 GiB free\n");
  EXPECT_EQ(with(gibibyte - 1, 0, nullptr), "warning: 1.0 GiB free\n");
  EXPECT_EQ(with(gibibyte, 0, nullptr), "ok: 1.0 GiB free\n");
  const ClusterProfile profile = expected_node();  // of 8 GPUs
  EXPECT_EQ(with(2 * gibibyte, 4, &profile), "warning: 2.0 GiB free\n");
}

TEST(Doctor, WithNothingThereHardwareIsNeverOk) {
  const TempFolder empty;
  const ClusterProfile profile = expected_node();
  for (const Finding& f : examine_snapshot(empty.path(), nullptr)) EXPECT_EQ(f.state, FindingState::absent) << f.check;
  const Findings expected = examine_snapshot(empty.path(), &profile);
  for (const char* check : {"gpu.count", "hca.count", "versions.driver", "versions.cuda", "versions.nccl"}) {
    EXPECT_TRUE(lines_of_check(expected, check).starts_with("bad: ")) << check;
  }
  for (const Finding& f : expected)
    EXPECT_TRUE(f.state == FindingState::absent || f.state == FindingState::bad) << f.check;
}

TEST(Doctor, APortThatNobodyUsesIsNoFault) {
  ClusterProfile profile = expected_node();
  const std::string unused =
      "\nCA 'mlx5_8'\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: Disabled\n"
      "\t\tSM lid: 0\n\t\tLink layer: Ethernet\n";
  const Machine good(fixtures + "good");
  Changed node;
  node.with("commands/ibstat", good.run("ibstat", {}).out + unused);
  EXPECT_EQ(node.check("hca.link", &profile), "ok: all 8 LinkUp\n");  // the profile names the others
  profile.nics.hca.clear();
  EXPECT_EQ(node.check("hca.link", &profile), "warning: mlx5_8 is Disabled\n");
  profile.nics.per_node = 9;
  EXPECT_EQ(node.check("hca.link", &profile), "bad: mlx5_8 is Disabled\n");
}

TEST(Doctor, WithoutIbstatNothingIsKnownOfLinks) {
  const ClusterProfile profile = expected_node();
  EXPECT_EQ(Changed().without("commands/ibstat").check("hca.link", &profile), "not present: ibstat is not there\n");
  EXPECT_EQ(Changed().with("commands/ibstat", "").check("hca.link", &profile), "not present: ibstat lists no port\n");
}

TEST(Doctor, WithoutAProfileAGpuThatTheDriverHasAndNvidiaSmiHasNotIsAWarning) {
  EXPECT_EQ(Changed().with("commands/nvidia-smi-gpus", "0, NVIDIA H100 80GB HBM3\n").check("gpu.count", nullptr),
            "warning: 1 (NVIDIA H100 80GB HBM3)\n");
}

TEST(Doctor, AGpuWithLessMemoryThanTheProfileSays) {
  const ClusterProfile profile = expected_node();
  const auto seen = [&](const std::string& rows, const ClusterProfile* expected) {
    return Changed().with("commands/nvidia-smi-memory", rows).check("gpu.memory", expected);
  };
  EXPECT_EQ(seen("0, 81559, 4, Disabled\n1, 40960, 4, Disabled\n", &profile), "bad: GPU 1: 40.0 GiB\n");
  EXPECT_EQ(seen("0, 40960, 4, Disabled\n", nullptr), "ok: 40.0 GiB, free\n");
  EXPECT_EQ(seen("0, 81559, 2049, Disabled\n", nullptr), "warning: GPU 0: 2.0 of 79.6 GiB are taken\n");
  EXPECT_EQ(seen("0, 81559, 2047, [N/A]\n", &profile), "ok: 79.6 GiB, free\n");
  EXPECT_EQ(seen("0, [N/A], [N/A], [N/A]\n", &profile), "ok: memory is the host's\n");
}

TEST(Doctor, GpusWithoutEccAndRowsThatFailed) {
  EXPECT_EQ(Changed().with("commands/nvidia-smi-ecc", "0, Disabled, [N/A]\n").check("gpu.ecc", nullptr),
            "warning: ECC is not on: GPU 0: Disabled\n");
  // As nvidia-smi has it of a GPU for games (tables in Frogging-Family/nvidia-all, pull request 212).
  EXPECT_EQ(Changed().with("commands/nvidia-smi-ecc", "0, [N/A], [N/A]\n").check("gpu.ecc", nullptr),
            "not present: these GPUs have no ECC to turn on\n");
  EXPECT_EQ(Changed().with("commands/nvidia-smi-ecc", "0, [N/A], [N/A]\n1, Disabled, 0\n").check("gpu.ecc", nullptr),
            "warning: ECC is not on: GPU 1: Disabled\n");
  EXPECT_EQ(Changed().with("commands/nvidia-smi-ecc", "0, [GPU is lost], [GPU is lost]\n").check("gpu.ecc", nullptr),
            "warning: ECC is not on: GPU 0: [GPU is lost]\n");
  EXPECT_EQ(
      Changed().with("commands/nvidia-smi-rows", "00000000:1B:00.0, 9, No, Yes\n").check("gpu.remapped_rows", nullptr),
      "bad: 00000000:1B:00.0: a row could not be remapped\n");
  EXPECT_EQ(
      Changed().with("commands/nvidia-smi-clocks", "0, Not Active, Not Active, Active\n").check("gpu.clocks", nullptr),
      "warning: GPU 0: thermal slowdown by software\n");
  EXPECT_EQ(Changed()
                .with("commands/nvidia-smi-ecc", "Field is not valid")
                .with("commands/nvidia-smi-ecc.exit", "2")
                .check("gpu.ecc", nullptr),
            "not present: nvidia-smi ended with 2: Field is not valid\n");
}

TEST(Doctor, GpusThatTheirSwitchesDoNotKnow) {
  const auto with = [](const std::string& rows) {
    return Changed().with("commands/nvidia-smi-fabric", rows).check("gpu.fabric", nullptr);
  };
  EXPECT_EQ(Changed().check("gpu.fabric", nullptr), "ok: 8 registered with the switches\n");
  EXPECT_EQ(with("0, In Progress, N/A\n1, Not Started, N/A\n"), "bad: GPU 0: In Progress; GPU 1: Not Started\n");
  EXPECT_EQ(with("0, Completed, Success\n1, Completed, Insufficient Resources\n"),
            "bad: GPU 1: Insufficient Resources\n");
  EXPECT_EQ(with("0, [GPU is lost], [GPU is lost]\n1, Completed, Success\n"), "bad: GPU 0: [GPU is lost]\n");
  EXPECT_EQ(with("0, Completed, [Unknown Error]\n"), "bad: GPU 0: [Unknown Error]\n");
  for (const char* nothing : {"0, N/A, N/A\n", "0, [N/A], [N/A]\n", "0, [Not Supported], [Not Supported]\n"}) {
    EXPECT_EQ(with(nothing),
              "not present: nvidia-smi tells of no registration (no NVSwitches, or GPUs before Hopper)\n")
        << nothing;
  }
  EXPECT_EQ(Changed()
                .with("commands/nvidia-smi-fabric", "Field \"fabric.state\" is not a valid field to query.")
                .with("commands/nvidia-smi-fabric.exit", "2")
                .check("gpu.fabric", nullptr),
            "not present: nvidia-smi ended with 2: Field \"fabric.state\" is not a valid field to query.\n");
}

// "GH200" ends in the name of a GPU that has links to others on every board (leptonai/gpud, pull request 1206).
TEST(Doctor, AGh200NeedsNoLinksToOtherGpus) {
  const auto with = [](const std::string& text) {
    return Changed().with("commands/nvidia-smi-nvlink", text).check("gpu.nvlink", nullptr);
  };
  const std::string uuid = " (UUID: GPU-00000000-0000-0000-0000-000000000000)\n";
  const std::string none = "NVML: Unable to retrieve NVLink information as all links are inActive\n";
  EXPECT_EQ(with("GPU 0: NVIDIA GH200 480GB" + uuid + none), "not present: NVIDIA GH200 480GB: no link is up\n");
  EXPECT_EQ(with("GPU 0: NVIDIA H200" + uuid + none), "warning: GPU 0: 0 up, 0 down\n");
  const std::string linked = "GPU 0: NVIDIA GH200 120GB" + uuid + "\t Link 0: 26.562 GB/s\n";
  EXPECT_EQ(with(linked + "GPU 1: NVIDIA GH200 120GB" + uuid + "\t Link 0: <inactive>\n"),
            "bad: GPU 1: 0 up, 1 down\n");
}

TEST(Doctor, AKernelLogThatMayNotBeReadSaysNothing) {
  EXPECT_EQ(Changed()
                .with("commands/dmesg", "dmesg: read kernel buffer failed: Operation not permitted")
                .with("commands/dmesg.exit", "1")
                .check("gpu.xid", nullptr),
            "not present: dmesg ended with 1: dmesg: read kernel buffer failed: Operation not permitted\n");
}

TEST(Doctor, ErrorsThatRiseAreFound) {
  const Hca before{.name = "mlx5_0",
                   .state = "ACTIVE",
                   .link_layer = "",
                   .firmware = "",
                   .rate = "",
                   .model = "",
                   .errors = {{"symbol_error", 3}, {"link_downed", 1}}};
  Hca after = before;
  EXPECT_TRUE(risen_errors({before}, {after}).empty());
  after.errors["symbol_error"] = 15;
  EXPECT_EQ(risen_errors({before}, {after}), std::vector<std::string>{"mlx5_0 symbol_error +12"});
}

TEST(Doctor, FilesOfNcclAreLookedUpOnTheNode) {
  const ClusterProfile roce = read_profile("ibm-roce");
  EXPECT_EQ(Changed().check("nccl.files", &roce), "bad: NCCL_TOPO_FILE=/etc/nccl/topo.xml\n");
  EXPECT_EQ(Changed().with("etc/nccl/topo.xml", "<system/>").check("nccl.files", &roce), "");
  Changed shell;
  shell.with("commands/env", "NCCL_GRAPH_FILE=/tmp/graph.xml\n");
  EXPECT_EQ(shell.check("nccl.files", nullptr), "bad: NCCL_GRAPH_FILE=/tmp/graph.xml\n");
  Changed tuner;
  tuner.with("commands/env", "NCCL_TUNER_PLUGIN=/opt/tuner.so\nNCCL_TOPO_FILE=\n");
  EXPECT_EQ(tuner.check("nccl.files", nullptr), "warning: NCCL_TOPO_FILE=\nwarning: NCCL_TUNER_PLUGIN=/opt/tuner.so\n");
  ClusterProfile other = roce;
  other.environment.variables = {{.name = "NCCL_TOPO_FILE", .value = "", .reason = "bare", .unset = true}};
  EXPECT_EQ(Changed().check("nccl.files", &other), "");
  // For lack of the variable NCCL takes what its own files say.
  Changed files;
  files.with("etc/nccl.conf", "NCCL_TOPO_FILE=/etc/none.xml\n");
  EXPECT_EQ(files.check("nccl.files", &other), "bad: NCCL_TOPO_FILE=/etc/none.xml\n");
  files.with("commands/env", "NCCL_TOPO_FILE=/tmp/shell.xml\n");
  EXPECT_EQ(files.check("nccl.files", &other), "bad: NCCL_TOPO_FILE=/etc/none.xml\n");
  EXPECT_EQ(files.check("nccl.files", &roce), "bad: NCCL_TOPO_FILE=/etc/nccl/topo.xml\n");
  other = roce;
  other.software.container = {"apptainer", "exec", "image"};
  EXPECT_EQ(Changed().check("nccl.files", &other), "warning: NCCL_TOPO_FILE=/etc/nccl/topo.xml\n");
}

TEST(Doctor, WhatRoceSentAgainIsToldAgainstThePacketsReceived) {
  const char* check = "hca.retransmissions";
  const std::string port = "sys/class/infiniband/mlx5_0/ports/1/";
  EXPECT_EQ(Changed().with(port + "hw_counters/packet_seq_err", "100000").check(check, nullptr), "");  // InfiniBand
  const auto roce = [&](const std::string& file, const char* text) {
    Changed node;
    node.with(port + "link_layer", "Ethernet\n").with(port + "hw_counters/packet_seq_err", "5000\n");
    node.with(port + "hw_counters/out_of_sequence", "900000\n").with(file, text);
    return node.check(check, nullptr);
  };
  EXPECT_EQ(roce("unknown", ""), "warning: mlx5_0 packet_seq_err 5000, mlx5_0 out_of_sequence 900000\n");
  // One in two million packets; and one in ten minutes since the node was booted.
  EXPECT_TRUE(roce(port + "counters/port_rcv_packets", "10000000000").starts_with("ok"));
  EXPECT_TRUE(roce(port + "counters/port_rcv_packets", "1000000000").starts_with("warning"));
  EXPECT_TRUE(roce("proc/uptime", "3000000.12 1.0").starts_with("ok"));
  Changed drops;
  drops.with(port + "link_layer", "Ethernet\n")
      .with(port + "gid_attrs/ndevs/0", "eth5\n")
      .with("commands/ethtool-eth5", "NIC statistics:\n     rx_discards_phy: 187423\n");
  EXPECT_EQ(drops.check(check, nullptr), "warning: mlx5_0 rx_discards_phy 187423\n");
}

TEST(Doctor, AcsInAVirtualMachineAndForThoseWhoMayNotSee) {
  const std::string bridge =
      "17:01.0 PCI bridge: x\n\t\tACSCtl:\tSrcValid+ ReqRedir-\n1b:00.0 3D controller: NVIDIA x\n";
  Changed node;
  node.with("commands/lspci", bridge).with("proc/cpuinfo", "processor : 0\nflags : fpu hypervisor\n");
  EXPECT_EQ(node.check("pci.acs", nullptr), "warning: on, on 1 bridges: 17:01.0\n");
  node.with("commands/lspci",
            "17:01.0 PCI bridge: x\n\tCapabilities: <access denied>\n1b:00.0 3D controller: NVIDIA x\n");
  EXPECT_EQ(node.check("pci.acs", nullptr), "not present: lspci shows capabilities to root alone\n");
  node.with("commands/lspci", "17:01.0 PCI bridge: x\n\t\tACSCtl:\tSrcValid+ ReqRedir+\n");
  EXPECT_EQ(node.check("pci.acs", nullptr), "not present: no NVIDIA GPU on the bus\n");
}

TEST(Doctor, SpaceForCheckpoints) {
  const auto with_gib = [](double gib) {
    return Changed()
        .with("commands/df",
              fmt::format("Filesystem 1024-blocks Used Available Capacity Mounted on\nx 1 1 {:.0f} 1% /runs\n",
                          gib * 1024 * 1024))
        .check("storage.space", nullptr);
  };
  EXPECT_EQ(with_gib(0.9).substr(0, 4), "bad:");
  EXPECT_EQ(with_gib(1).substr(0, 8), "warning:");
  EXPECT_EQ(with_gib(19.9).substr(0, 8), "warning:");
  EXPECT_EQ(with_gib(20).substr(0, 3), "ok:");
}

/// As chronyd says it before it has a server, with an offset of nothing.
TEST(Doctor, AClockWithoutATimeServer) {
  const std::string tracking =
      "System time     : 0.000000000 seconds fast of NTP time\nLeap status     : Not synchronised\n";
  EXPECT_EQ(Changed().with("commands/chronyc", tracking).check("clock", nullptr),
            "warning: chronyd has no time server\n");
}

TEST(Doctor, TheClockBySystemd) {
  EXPECT_EQ(Changed().without("commands/chronyc").with("commands/timedatectl", "yes").check("clock", nullptr),
            "ok: kept by a time server\n");
  EXPECT_EQ(Changed().without("commands/chronyc").with("commands/timedatectl", "no").check("clock", nullptr),
            "warning: not kept by a time server\n");
}

TEST(Doctor, SrunsDefaultForMpi) {
  EXPECT_EQ(Changed().with("commands/scontrol-config", "MpiDefault = none").check("launch.mpi", nullptr),
            "warning: pmi2 is there; srun's default is none\n");
  EXPECT_EQ(Changed()
                .with("commands/scontrol-config", "MpiDefault = none")
                .with("commands/env", "SLURM_MPI_TYPE=pmi2")
                .check("launch.mpi", nullptr),
            "ok: pmi2, srun's default\n");
}

TEST(Doctor, AFileSystemWithoutLocksIsAWarningAndFineWhereTheProfileKnows) {
  Changed node;
  node.with("commands/flock", "no").with("commands/flock.exit", "65");
  ClusterProfile profile = expected_node();
  EXPECT_EQ(node.check("storage.locks", &profile).substr(0, 8), "warning:") << "no run needs them";
  node.with("commands/flock.exit", "66");
  EXPECT_EQ(node.check("storage.locks", &profile).substr(0, 4), "bad:") << "nothing can be written there";
  node.with("commands/flock.exit", "65");
  profile.file_systems = {{.path = "/gpfs", .kind = "gpfs", .advice = "", .locks = false}};
  EXPECT_EQ(node.check("storage.locks", &profile), "ok: not used: /gpfs has none, as ibm-infiniband says\n");
}

// nvidia-smi of R610 has both names (Jaded-Encoding-Thaumaturgy/vs-jetpack, issue 295); with CUDA 14 the old ones go.
TEST(Doctor, VersionsByTheNamesThatNvidiaSmiHasSinceR610) {
  const std::string old_names =
      "Driver Version : 610.57.04 [Deprecated; will be removed in CUDA 14.0. Use KMD Version instead]\n"
      "CUDA Version   : 13.3 [Deprecated; will be removed in CUDA 14.0. Use CUDA UMD Version instead]\n";
  const std::string new_names = "KMD Version      : 610.57.04\nCUDA UMD Version : 13.3\n";
  for (const std::string& text : {old_names, old_names + new_names, new_names}) {
    Changed node;
    node.with("commands/nvidia-smi-compute", text);
    EXPECT_EQ(node.check("versions.driver", nullptr), "ok: 610.57.04\n") << text;
    EXPECT_EQ(node.check("versions.cuda", nullptr), "ok: 13.3\n") << text;
  }
}

TEST(Doctor, VersionsCompareAsNumbers) {
  EXPECT_EQ(parse_version("NCCL version 2.28.9+cuda13.0"), (Version{2, 28, 9}));
  EXPECT_TRUE(parse_version("none").empty());
  EXPECT_TRUE(in_range({2, 28, 10}, "2.28.9", ""));
  EXPECT_FALSE(in_range({2, 9}, "2.28", ""));
  EXPECT_TRUE(in_range({2, 28, 9}, "", "2.28"));
  EXPECT_FALSE(in_range({2, 28, 9}, "", "2.28.8"));
  EXPECT_TRUE(in_range({2, 28}, "2.28", "2.28"));
}

TEST(Doctor, KnownBadVersionsOfTheRepository) {
  const auto list = read_known_versions();
  const auto state = [&](const char* software, const char* version) {
    return judge_version(list, software, version).front().state;
  };
  EXPECT_EQ(state("nccl", "2.28.9"), FindingState::ok);
  EXPECT_EQ(state("nccl", "2.28.8"), FindingState::bad);
  EXPECT_EQ(state("nccl", "2.28.3"), FindingState::bad);
  EXPECT_EQ(state("nccl", "2.27.7"), FindingState::ok);
  EXPECT_EQ(state("nccl", "2.17.1"), FindingState::bad);
  EXPECT_EQ(state("nccl", "2.20.5"), FindingState::warning);
  EXPECT_EQ(state("driver", "580.65.06"), FindingState::ok);
  EXPECT_EQ(state("driver", "579.1"), FindingState::warning);
  EXPECT_EQ(state("driver", "470.1"), FindingState::bad);
}

TEST(NodeReport, JsonReadsBack) {
  const NodeReport report{.node = "n\"1",
                          .time = 1.5,
                          .versions = {{"nccl", "2.28.9"}},
                          .findings = {{"gpu.count", FindingState::absent, "s\xff", "e", "a"}, good("clock", "fine")}};
  const std::string json = to_json(report);
  EXPECT_EQ(json.find('\n'), std::string::npos);
  EXPECT_NE(json.find(R"("healthy":true)"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("state":"not present")"), std::string::npos) << json;
  const NodeReport back = parse_report(json, "x.json");
  EXPECT_EQ(back.node, report.node);
  EXPECT_EQ(back.versions, report.versions);
  EXPECT_EQ(to_json(back), json);
  EXPECT_EQ(test::error_of([] { parse_report("{}", "x.json"); }), "[cluster] x.json: node is missing; expected a text");
}

TEST(NodeReport, VersionsOfANode) {
  const Machine machine(fixtures + "bad");
  const auto versions = examine_node({machine, nullptr, "/gpfs/run"}).versions;
  const std::map<std::string, std::string> expected = {{"driver", "565.57.01"},
                                                       {"firmware", "1 x 28.35.2000, 6 x 28.39.1002"},
                                                       {"gpus", "8 x NVIDIA H100 80GB HBM3"},
                                                       {"hcas", "1 x 200 Gb/sec (2X NDR), 6 x 400 Gb/sec (4X NDR)"},
                                                       {"kernel", "5.4.0-150-generic"},
                                                       {"nccl", "2.28.5"}};
  EXPECT_EQ(versions, expected);
}

NodeReport node(const std::string& name, double time, const std::string& nccl, const std::string& kernel) {
  return {.node = name, .time = time, .versions = {{"nccl", nccl}, {"kernel", kernel}}, .findings = {}};
}

TEST(Allocation, NodesThatDifferFromTheMajorityAreNamed) {
  const Findings f = compare_nodes({node("a", 100, "2.28.9", "6.1"), node("b", 101, "2.27.7", "6.1"),
                                    node("c", 109, "2.28.9", "6.2"), node("d", 100, "2.28.9", "6.1")},
                                   4);
  EXPECT_EQ(to_text(f).substr(0, to_text(f).find('\n')), "warning     clock.skew            9.0 s between a and c");
  EXPECT_EQ(lines_of_check(f, "same.nccl"), "bad: 2.27.7 on b\n");
  EXPECT_EQ(lines_of_check(f, "same.kernel"), "warning: 6.2 on c\n");
  EXPECT_FALSE(healthy(f));
  EXPECT_TRUE(healthy(compare_nodes({node("a", 100, "x", "y"), node("b", 104, "x", "y")}, 2)));
  EXPECT_EQ(lines_of_check(compare_nodes({node("a", 100, "x", "y"), node("b", 161, "x", "y")}, 2), "clock.skew"),
            "bad: 61.0 s between a and b\n");
  EXPECT_EQ(lines_of_check(compare_nodes({node("a", 100, "x", "y")}, 2), "nodes"), "bad: 1 reported\n");
}

TEST(Allocation, ANodeThatCouldNotFinishIsUnhealthy) {
  const TempFolder folder;
  EXPECT_NE(test::error_of([&] { read_reports(folder.path()); }).find("expected files NODE.json"), std::string::npos);
  write_bytes(folder / "b.json", "");
  NodeReport a = node("a", 100, "x", "y");
  a.findings = {{"clock", FindingState::warning, "s", "e", "x"}};
  write_bytes(folder / "a.json", to_json(a));
  write_bytes(folder / "log.txt", "not read");
  const auto reports = read_reports(folder.path());
  EXPECT_EQ(node_table(reports), "a     healthy  warning: clock\nb     unhealthy  bad: doctor\n");
  EXPECT_TRUE(compare_nodes(reports, 2).empty());  // one whole report: nothing to compare
}

}  // namespace
}  // namespace octet
