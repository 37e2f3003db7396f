// Host lists, what Slurm's commands print, profiles, and the tables and reports of octet doctor.
#include "src/cluster/doctor/hca_links.h"
#include "src/cluster/doctor/kernel_log.h"
#include "src/cluster/doctor/node_report.h"
#include "src/cluster/environment/value_check.h"
#include "src/cluster/environment/variable_table.h"
#include "src/cluster/host_list.h"
#include "src/cluster/machine/known_versions.h"
#include "src/cluster/profile.h"
#include "src/cluster/slurm_job.h"
#include "src/cluster/slurm_options.h"
#include "src/cluster/slurm_topology.h"
#include "src/cluster/slurm_version.h"
#include "tests/fuzz/fuzz.h"

namespace octet::fuzz {
namespace {

void read_hosts(const std::string& text) {
  const auto hosts = expand_hosts(text);
  if (expand_hosts(compress_hosts(hosts)) != hosts) throw std::logic_error("compress_hosts: other hosts");
}

void read_job(const std::string& text) {
  parse_slurm_job(text);
  node_list(text);
  cluster_name(text);
}

void read_option(const std::string& text) {
  const SlurmOption option = parse_slurm_option(text);
  sbatch_option_problem(option, true);
  srun_option_problem(option);
  sbatch_line(option);
  argument_of(option);
}

void read_report(const std::string& text) {
  to_text(parse_report(text, "input.json").findings);
}

/// A profile that is taken stays the same written down and read again.
void read_cluster(const std::string& text) {
  const ClusterProfile profile = read_profile(put("input.yaml", text));
  const std::string written = to_yaml(profile);
  expect_same(written, to_yaml(read_profile(put("written.yaml", written))));
}

std::string report() {
  return R"({"node": "n1", "healthy": false, "time": 1763900000.5, "versions": {"driver": "570.86", "nccl": "2.28.9"},)"
         R"( "findings": [{"check": "hca.link", "state": "bad", "seen": "Polling", "expected": "LinkUp", )"
         R"("advice": "a cable"}]})";
}

}  // namespace

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      {"hosts", read_hosts, texts({"n[1-3,07],m01,rack[1-2]node[1-2]-ib", "gpu-0007", "a[001-064]"})},
      {"slurm-job", read_job,
       texts({"JobId=2 JobName=x\n   JobState=RUNNING Reason=None Dependency=(null)\n   Requeue=1 Restarts=1 "
              "BatchFlag=1\n"
              "   RunTime=1-00:01:02 TimeLimit=2-00:00:00 PreemptTime=2026-11-22T09:54:53\n   NodeList=n[1-3]\n",
              "ClusterName = one\n"})},
      {"slurm-topology",
       [](const std::string& text) {
         order_by_leaf({"n1", "n9", "n4"}, parse_topology(text));
       },
       texts({"SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[3-4]\n"
              "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=leaf[0-1]\n",
              "BlockName=b1 BlockIndex=0 Nodes=n[1-4] BlockSize=4\n"})},
      {"slurm-time", [](const std::string& text) { parse_slurm_time(text, "input"); },
       texts({"90", "90:30", "1:30:00", "1-12", "1-12:30", "1-12:30:59"})},
      {"slurm-option", read_option,
       texts({"--comment=my comment", "--comment 'my comment'", "-C ib", "-Cib", "--oversub"})},
      {"slurm-version", [](const std::string& text) { parse_slurm_version(text); },
       texts({"slurm-wlm 23.11.4", "24.05"})},
      {"profile", read_cluster, files({"configs/clusters/local.yaml", "configs/clusters/dgx-h100-infiniband.yaml"})},
      {"variables", [](const std::string& text) { read_variable_table(put("variables.yaml", text)); },
       files({"configs/environment.yaml"})},
      {"known-versions", [](const std::string& text) { read_known_versions(put("known.yaml", text)); },
       files({"configs/known-bad.yaml"})},
      {"node-report", read_report, texts({report()})},
      {"ibstat", [](const std::string& text) { parse_ibstat(text); },
       files({"tests/cluster/doctor/good/commands/ibstat"})},
      {"kernel-log", [](const std::string& text) { parse_driver_error(text); },
       texts(
           {"[1.0] NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (0x025525c6)",
            "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
            "nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up"})},
      {"devices", [](const std::string& text) { parse_devices(text); }, texts({"^=mlx5_0:1,mlx5_1", "mlx5"})},
  };
  return all;
}

}  // namespace octet::fuzz
