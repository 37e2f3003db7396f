// What lint says of variables alone and together.
#include "src/cluster/environment/environment_lint.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/cluster/environment/value_check.h"
#include "src/cluster/machine/known_versions.h"
#include "tests/cluster/lint_support.h"

namespace octet {
namespace {

using test::one;
using test::table;

struct Rule {
  const char *name, *value, *state, *part;  ///< of the first finding's text
};

TEST(Lint, ReasonsThatEndWithAReleaseAreSaidThen) {
  const ClusterProfile roce = read_profile("ibm-roce");
  EXPECT_EQ(one("NCCL_IB_TIMEOUT", "22", "2.29.2", &roce).find("measure without it"), std::string::npos);
  EXPECT_NE(one("NCCL_IB_TIMEOUT", "22", "2.30.3", &roce).find("set for NCCL before 2.30"), std::string::npos);
  EXPECT_EQ(one("NCCL_IB_TIMEOUT", "21", "2.30.3", &roce).find("measure without it"), std::string::npos);
  EXPECT_EQ(one("NCCL_IB_TIMEOUT", "22", "2.30.3", nullptr).find("measure without it"), std::string::npos);
}

TEST(Lint, Rules) {
  const Rule rules[] = {
      {"NCCL_IB_TIMEOUT", "22", "ok", "until a message is sent again"},
      {"NCCL_IB_TIMEOUT", "20", "ok", "this is the default"},
      {"NCCL_IB_TIMEOUT", "0x16", "ok", "until a message is sent again"},
      {"NCCL_IB_TIMEOUT", "32", "warning", "0 to 31"},
      {"NCCL_IB_TIMEOUT", "twenty", "bad", "NCCL reads 0"},
      {"NCCL_IB_TIMEOUT", " 22 ", "ok", "until a message is sent again"},
      {"NCCL_IB_TIMEOUT", "22s", "warning", "NCCL reads 22"},
      {"NCCL_IB_TIMEOUT", "08", "bad", "NCCL reads 0"},
      {"NCCL_IB_TIMEOUT", "", "warning", "as if it were not set"},
      {"NCCL_BUFFSIZE", "4M", "bad", "NCCL reads 4:"},
      {"NCCL_BUFFSIZE", "1.5", "bad", "NCCL reads 1:"},
      {"NCCL_BUFFSIZE", "99999999999999999999", "warning", "at least 1"},
      {"NCCL_NVLS_ENABLE", "0", "ok", "NVLink SHARP"},
      {"NCCL_IB_TIMEOUT", "23", "warning", "after minutes"},
      {"NCCL_IB_TIMEOUT", "0", "bad", "no time limit"},
      {"NCCL_IB_TIMEOUTS", "22", "warning", "nearest: NCCL_IB_TIMEOUT"},
      {"NCCL_FOO_BAR_BAZ", "1", "warning", "no release of NCCL"},
      {"NCCL_IB_RETRY_CNT", "10", "warning", "0 to 7"},
      {"NCCL_IB_HCA", "mlx5_1", "warning", "mlx5_1 also takes mlx5_10 to mlx5_19"},
      {"NCCL_IB_HCA", "^mlx5_1", "warning", "also leaves out mlx5_10"},
      {"NCCL_IB_HCA", "=mlx5_1:1,mlx5_2", "ok", "verbs devices to use"},
      {"NCCL_IB_HCA", "mlx5", "warning", "mlx5 also takes mlx50"},
      {"NCCL_IB_HCA", "ibp", "ok", "verbs devices to use"},
      {"NCCL_ALGO", "ring", "warning", "pinned"},
      {"NCCL_ALGO", "NVLSTree", "bad", "does not fall back on rings"},
      {"NCCL_ALGO", "rings", "bad", "\"rings\""},
      {"NCCL_ALGO", "ring,tree;allreduce:^tree", "warning", "pinned"},
      {"NCCL_ALGO", "ring;tree", "bad", "FUNCTION:NAMES"},
      {"NCCL_ALGO", "ring, tree", "bad", "\" tree\""},
      {"NCCL_ALGO", "allgather:rings", "bad", "\"rings\""},
      {"NCCL_ALGO", "gather:ring", "bad", "\"gather\""},
      {"NCCL_ALGO", "", "warning", "as if it were not set"},
      {"NCCL_ALGO", "^ring", "bad", "between nodes: broadcast, all_gather, reduce_scatter (ring)"},
      {"NCCL_ALGO", "Tree,NVLSTree", "bad", "between nodes: broadcast, all_gather, reduce_scatter (ring)"},
      {"NCCL_ALGO", "allgather:tree", "bad", "between nodes: all_gather (ring)"},
      {"NCCL_ALGO", "allreduce:pat", "bad", "between nodes: all_reduce (nvlstree, ring, tree)"},
      {"NCCL_ALGO", "^tree,,nvlstree;allgather:ring", "warning", "pinned"},
      {"NCCL_PROTO", "LL128", "bad", "corrupted"},
      {"NCCL_PROTO", "^LL128", "warning", "pinned"},
      {"NCCL_PROTO", "Simple,LL128", "bad", "corrupted"},
      {"NCCL_PROTO", "^Simple", "bad", "corrupted"},
      {"NCCL_PROTO", "^ll", "bad", "corrupted"},
      {"NCCL_PROTO", "allreduce:LL128", "bad", "corrupted"},
      {"NCCL_PROTO", "^LL128;allreduce:LL128", "bad", "corrupted"},
      {"NCCL_PROTO", "allreduce:Simple", "warning", "pinned"},
      {"NCCL_NET_GDR_LEVEL", "LOC", "warning", "through host memory"},
      {"NCCL_NET_GDR_LEVEL", "loc", "warning", "with their capitals"},
      {"NCCL_NET_GDR_LEVEL", "3", "warning", "cross the CPU"},
      {"NCCL_NET_GDR_LEVEL", "PXB", "ok", "direct transfers"},
      {"NCCL_NET_GDR_LEVEL", "PHB", "warning", "cross the CPU"},
      {"NCCL_CUMEM_ENABLE", "0", "warning", "turns symmetric memory, registered buffers"},
      {"NCCL_P2P_LEVEL", "nvl", "warning", "one of LOC, NVL, "},
      {"NCCL_P2P_LEVEL", "NVL", "ok", "each other's memory"},
      {"NCCL_SOCKET_FAMILY", "af_inet", "warning", "one of AF_INET, AF_INET6, with their capitals"},
      {"NCCL_IB_ADDR_RANGE", "10.8.0.0/16", "ok", "CIDR"},
      {"NCCL_IB_ADDR_RANGE", "10.8.0.0", "warning", "such as 10.8.0.0/16"},
      {"NCCL_IB_ADDR_RANGE", "10.8/16", "warning", "such as 10.8.0.0/16"},
      {"NCCL_IB_ADDR_RANGE", "10.8.0.0/40", "warning", "such as 10.8.0.0/16"},
      {"NCCL_IB_ADDR_RANGE", "10.8.0.0/", "warning", "such as 10.8.0.0/16"},
      {"NCCL_IB_ADDR_RANGE", "fd02::/129", "warning", "such as 10.8.0.0/16"},
      {"NCCL_IB_ADDR_RANGE", "fd02::/16", "warning", "NCCL_IB_ADDR_FAMILY=AF_INET6"},
      {"NCCL_NET", "IB,Socket", "bad", "one network"},
      {"NCCL_NVLS_ENABLE", "2", "bad", "can hang"},
      {"NCCL_NVLS_ENABLE", "1", "ok", "NVLink SHARP"},
      {"NCCL_SOCKET_MAGIC", "0x12", "warning", "NCCL 2.28.9 does not read it, from 2.30"},
      {"NCCL_WORK_FIFO_DEPTH", "1", "warning", "up to 2.21.5"},
      {"NCCL_IB_NET_LATENCY", "50", "warning", "has no effect"},
      {"NCCL_CHECKS_DISABLE", "1", "warning", "NCCL_CHECK_POINTERS"},
      {"NCCL_ASYNC_ERROR_HANDLING", "1", "warning", "PyTorch"},
      {"TORCH_NCCL_BLOCKING_WAIT", "1", "warning", "PyTorch"},
      {"NCCL_COMM_BLOCKING", "1", "bad", "cannot be aborted"},
      {"NCCL_P2P_DISABLE", "1", "bad", "NVLink is not used"},
      {"NCCL_DEBUG", "warn", "ok", "what NCCL logs"},
      {"NCCL_DEBUG", "LOUD", "warning", "one of VERSION, WARN"},
      {"UCX_TLS", "all", "warning", "tcp,self (with sm outside of apptainer's containers)"},
      {"UCX_TLS", "tcp,self,sm", "ok", "transports"},
      {"UCX_TLZ", "tcp", "warning", "nearest: UCX_TLS"},
      {"MPIR_CVAR_ODD_EVEN_CLIQUES", "1", "warning", "for tests"},
      {"MPIR_CVAR_UNHEARD_OF", "1", "warning", "not in Octet's list of the variables of MPICH"},
      {"FI_PROVIDER", "tcp", "warning", "not EFA"},
      {"FI_PROVIDER", "efa", "ok", "providers"},
      {"FI_MR_CACHE_MONITOR", "kdreg2", "ok", "registered memory"},
      {"FI_MR_CACHE_MONITOR", "kdreg", "warning", "userfaultfd, memhooks, kdreg2, disabled, default"},
      {"FI_CXI_RDZV_PROTO", "alt_read", "ok", "disable_rdzv_get"},
      {"FI_CXI_RDZV_PROTO", "ALT_READ", "warning", "with their capitals"},
      {"FI_CXI_DEFAULT_TX_SIZE", "8", "warning", "at least 16"},
      {"FI_CXI_RDZV_THRESHOLDS", "0", "warning", "variables of libfabric; nearest: FI_CXI_RDZV_THRESHOLD"},
      {"OFI_NCCL_NET_LATENCY", "7.5", "ok", "in us"},
      {"OFI_NCCL_UNHEARD_OF", "1", "warning", "not in Octet's list of the variables of aws-ofi-nccl"},
      {"NCCL_SHARP_MAX_COMMS", "4", "ok", "read by the SHARP plugin"},
      {"NCCL_TUNER_CONFIG_PATH", "/a3u.txtpb", "ok", "read by Google's tuner plugin"},
      {"NCCL_TUNER_CONFIG_FILE", "/tuner.conf", "ok", "example of a tuner plugin"},
      {"NCCL_DYNAMIC_CHUNK_SIZE", "524288", "ok", "read by Google's network plugin"},
      {"NCCL_SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE", "/a.textproto", "ok", "config checker"},
      {"NCCL_FASTRAK_NUM_FLOWS", "2", "ok", "read by a network plugin of Google's"},
      {"NCCL_GPUDIRECTTCPX_CTRL_DEV", "eth0", "ok", "read by a network plugin of Google's"},
      {"NCCL_PLUGIN_P2P", "ucx", "ok", "read by the SHARP plugin"},
      {"NCCL_IB_TC", "26", "warning", "if DSCP 26 was meant, it is 104, or 106 with ECT(0)"},
      {"NCCL_IB_TC", "106", "ok", "4 * DSCP"},
      {"NCCL_IB_TC", "41", "ok", "4 * DSCP"},
      {"NCCL_IB_TC", "32", "ok", "4 * DSCP"},
      {"NCCL_NET", "", "bad", "empty name"},
      {"nccl_ib_tc", "106", "warning", "names are of capitals"},
  };
  for (const Rule& rule : rules) {
    const std::string text = one(rule.name, rule.value);
    EXPECT_TRUE(text.starts_with(rule.state)) << rule.name << '=' << rule.value << ": " << text;
    EXPECT_NE(text.find(rule.part), std::string::npos) << rule.name << '=' << rule.value << ": " << text;
  }
  EXPECT_TRUE(lint(table(), {{"PATH", "/bin"}, {"MY_NCCL_X", "1"}}, "2.28.9", nullptr).empty());
}

TEST(Lint, VariablesThatContradictEachOther) {
  struct Pair {
    Environment environment;
    const char *about, *state, *part;
  };
  const char* const checker = "NCCL_SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE";
  const Pair pairs[] = {
      {{{"NCCL_IB_DISABLE", "1"}, {"NCCL_NET", "IB"}}, "NCCL_IB_DISABLE", "bad", "NCCL_NET=IB: the network that NCCL"},
      {{{"NCCL_NET_PLUGIN", "none"}, {"NCCL_NET", "AWS Libfabric"}},
       "NCCL_NET_PLUGIN",
       "bad",
       "plugins are turned off"},
      {{{"NCCL_NET_PLUGIN", "none"}, {"NCCL_NET", "OFI"}}, "NCCL_NET_PLUGIN", "bad", "the plugin that has OFI"},
      {{{"NCCL_NET_PLUGIN", "None"}, {"NCCL_NET", "IBext_v10"}}, "NCCL_NET_PLUGIN", "bad", "plugins are turned off"},
      {{{"NCCL_NET_PLUGIN", ""}, {"NCCL_NET", "Libfabric"}}, "NCCL_NET_PLUGIN", "bad", "plugins are turned off"},
      {{{"NCCL_NET_PLUGIN", "libnccl-net.so"}, {"NCCL_NET", "IB"}}, "NCCL_NET_PLUGIN", "warning", "is not used"},
      {{{"NCCL_NET_PLUGIN", "ofi"}, {"NCCL_NET", "socket"}}, "NCCL_NET_PLUGIN", "warning", "in place of socket"},
      {{{"NCCL_IB_ADDR_RANGE", "10.8.0.0/16"}, {"NCCL_IB_ADDR_FAMILY", "AF_INET6"}},
       "NCCL_IB_ADDR_RANGE",
       "warning",
       "or a range of IPv6"},
      {{{"NCCL_COLLNET_ENABLE", "1"}, {"NCCL_NET", "IB"}}, "NCCL_COLLNET_ENABLE", "warning", "NCCL's own"},
      {{{"NCCL_SHARP_DISABLE", "1"}, {"NCCL_NET_PLUGIN", "none"}}, "NCCL_SHARP_DISABLE", "warning", "turned off"},
      {{{"NCCL_ALGO", "CollNetDirect"}, {"NCCL_COLLNET_ENABLE", "1"}}, "NCCL_ALGO", "bad", "nodes: broadcast (ring)"},
      {{{"NCCL_ALGO", "NVLS"}, {"NCCL_NVLS_ENABLE", "0"}}, "NCCL_ALGO", "bad", "turned off"},
      {{{"NCCL_ALGO", "CollNetDirect"}}, "NCCL_ALGO", "bad", "needs NCCL_COLLNET_ENABLE=1"},
      {{{"NCCL_SHM_DISABLE", "1"}, {"NCCL_P2P_DISABLE", "1"}}, "NCCL_SHM_DISABLE", "bad", "over the network"},
      {{{"NCCL_PROTO", "Simple,LL128"}, {"NCCL_NET", "AWS Libfabric"}}, "NCCL_PROTO", "bad", "corrupted"},
      {{{"NCCL_PROTO", "Simple,LL128"}, {checker, "/a.textproto"}}, "NCCL_PROTO", "warning", "Google's A3 Mega"},
      {{{"NCCL_PROTO", "LL"}, {"NCCL_NET", "FasTrak"}}, "NCCL_PROTO", "warning", "wrong at other sizes"},
      {{{"NCCL_NET_GDR_LEVEL", "SYS"}, {"FI_PROVIDER", "cxi"}}, "NCCL_NET_GDR_LEVEL", "warning", "cross the CPU"},
      {{{"NCCL_NET_GDR_LEVEL", "PHB"}, {"FI_PROVIDER", "efa"}}, "NCCL_NET_GDR_LEVEL", "warning", "cross the CPU"},
      {{{"NCCL_DEBUG_SUBSYS", "NET"}, {"NCCL_DEBUG", "WARN"}}, "NCCL_DEBUG_SUBSYS", "warning", "NCCL_DEBUG=INFO"},
      {{{"NCCL_DEBUG_FILE", "/tmp/x"}}, "NCCL_DEBUG_FILE", "warning", "nothing is logged"},
      {{{"NCCL_MIN_CTAS", "16"}, {"NCCL_MAX_CTAS", "8"}}, "NCCL_MIN_CTAS", "bad", "contradict"},
      {{{"UCX_TLS", "tcp,self,sm"}, {"UCX_NET_DEVICES", "mlx5_0:1"}}, "UCX_NET_DEVICES", "bad", "MPI does not start"},
  };
  const auto text = [](const Environment& environment, const std::string& about, std::string_view state) {
    std::string out;
    for (const Finding& f : lint(table(), environment, "2.28.9", nullptr)) {
      if (f.check == about && name_of(f.state) == state) out += f.expected + " " + f.advice + "\n";
    }
    return out;
  };
  for (const Pair& p : pairs) {
    EXPECT_NE(text(p.environment, p.about, p.state).find(p.part), std::string::npos) << p.about;
  }
  const Environment consistent[] = {{{"NCCL_IB_DISABLE", "1"}, {"NCCL_NET", "Socket"}},
                                    {{"NCCL_IB_DISABLE", "0"}, {"NCCL_NET", "IB"}},
                                    {{"NCCL_NET_PLUGIN", "none"}, {"NCCL_NET", "ib"}},
                                    {{"NCCL_NET_PLUGIN", "none"}, {"NCCL_NET", "Socket"}},
                                    {{"NCCL_NET_PLUGIN", "libnccl-net.so"}, {"NCCL_NET", "AWS Libfabric"}},
                                    {{"NCCL_IB_ADDR_RANGE", "fd02::/16"}, {"NCCL_IB_ADDR_FAMILY", "AF_INET6"}},
                                    {{"NCCL_ALGO", "ring,collnetdirect"}, {"NCCL_COLLNET_ENABLE", "1"}},
                                    {{"NCCL_MIN_CTAS", "8"}, {"NCCL_MAX_CTAS", "8"}},
                                    {{"NCCL_NVLS_ENABLE", "1"}, {"NCCL_CUMEM_ENABLE", "0"}},
                                    {{"NCCL_PROTO", "Simple,LL128"}, {checker, "/a.textproto"}},
                                    {{"NCCL_NET_GDR_LEVEL", "PHB"}, {"FI_PROVIDER", "cxi"}},
                                    {{"UCX_TLS", "tcp,self"}, {"UCX_NET_DEVICES", "eth0"}},
                                    {{"UCX_TLS", "rc"}, {"UCX_NET_DEVICES", "mlx5_0:1"}}};
  for (const Environment& environment : consistent) {
    for (const auto& [name, value] : environment) {
      EXPECT_EQ(text(environment, name, "bad"), "") << name << '=' << value;
      // Of these a value alone is warned of, too.
      if (name == "NCCL_ALGO" || name == "NCCL_COLLNET_ENABLE" || name == "NCCL_CUMEM_ENABLE" || name == "UCX_TLS" ||
          name == "NCCL_PROTO") {
        continue;
      }
      EXPECT_EQ(text(environment, name, "warning"), "") << name << '=' << value;
    }
  }
}

/// NCCL hands names that it does not know to nobody, but its plugins read the environment themselves.
TEST(Lint, APluginMayReadWhatNcclDoesNot) {
  const auto text = [](const std::string& name, const Environment& beside) {
    Environment environment = beside;
    environment[name] = "1";
    std::string out;
    for (const Finding& f : lint(table(), environment, "2.28.9", nullptr)) {
      if (f.check == name) out += fmt::format("{}: {} {}\n", name_of(f.state), f.expected, f.advice);
    }
    return out;
  };
  const std::string unread = "warning: a variable that NCCL has no release of NCCL from 2.18 to 2.30 reads it";
  const Environment plugin = {{"NCCL_NET", "FasTrak"}};
  EXPECT_EQ(text("NCCL_FOO_BAR_BAZ", plugin), "ok:  NCCL does not read it; its plugin may (NCCL_NET=FasTrak)\n");
  EXPECT_TRUE(text("NCCL_FOO_BAR_BAZ", {{"NCCL_TUNER_PLUGIN", "libnccl-tuner.so"}}).starts_with("ok"));
  EXPECT_TRUE(text("NCCL_FOO_BAR_BAZ", {{"NCCL_TUNER_CONFIG_PATH", "/x"}}).starts_with("ok"));
  EXPECT_EQ(text("NCCL_IB_TIMEOUTS", plugin), unread + "; nearest: NCCL_IB_TIMEOUT\n");
  for (const char* net : {"IB", "socket", "AWS Libfabric", "IBext_v10", "ibext", ""}) {
    EXPECT_EQ(text("NCCL_FOO_BAR_BAZ", {{"NCCL_NET", net}}), unread + "\n") << net;
  }
  for (const char* tuner : {"none", "None", "", "octet", "/opt/lib/libnccl-tuner-octet.so", "ofi",
                            "/opt/aws-ofi-nccl/lib/libnccl-ofi-tuner.so"}) {
    EXPECT_EQ(text("NCCL_FOO_BAR_BAZ", {{"NCCL_TUNER_PLUGIN", tuner}}), unread + "\n") << tuner;
  }
  EXPECT_TRUE(text("NCCL_FOO_BAR_BAZ", {{"NCCL_TUNER_PLUGIN", "/octet/lib/libnccl-profiler.so"}}).starts_with("ok"));
  EXPECT_EQ(text("NCCL_FOO_BAR_BAZ", {{"NCCL_NET", "OFI"}, {"NCCL_TUNER_PLUGIN", "libnccl-tuner.so"}}), unread + "\n");
  EXPECT_EQ(text("NCCL_FOO_BAR_BAZ", {{"NCCL_TUNER_CONFIG_PATH", ""}, {"NCCL_TUNER_CONFIG_FILE", ""}}), unread + "\n");
  EXPECT_TRUE(text("NCCL_FASTRAK_IFNAME", plugin).starts_with("ok"));
  const std::string inert = text("NCCL_FASTRAK_IFNAME", {{"NCCL_NET", "IB"}});
  EXPECT_TRUE(inert.starts_with("warning: the plugin's network in NCCL_NET has no effect")) << inert;
}

TEST(Lint, NamesThatThisMachineDoesNotHave) {
  const LocalDevices devices{{"eth0", "ib0", "ib1", "lo"}, {"mlx5_0", "mlx5_1"}};
  struct Named {
    const char *name, *value, *state, *part;
  };
  const Named cases[] = {
      {"NCCL_SOCKET_IFNAME", "eth0", "ok", ""},
      {"NCCL_SOCKET_IFNAME", "ib", "ok", ""},
      {"NCCL_SOCKET_IFNAME", "^docker,lo", "ok", ""},
      {"NCCL_SOCKET_IFNAME", "=ib", "bad", "this machine has eth0, ib0, ib1, lo"},
      {"NCCL_SOCKET_IFNAME", "bond0", "bad", "leaves NCCL without one"},
      {"NCCL_SOCKET_IFNAME", "eth0,bond0", "warning", "no interface of that name: bond0"},
      {"NCCL_SOCKET_IFNAME", "^eth,ib,lo", "bad", "leaves NCCL without one"},
      {"NCCL_OOB_NET_IFNAME", "eth1", "bad", "this machine has"},
      {"NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1", "ok", ""},
      {"NCCL_IB_HCA", "=mlx5_7", "bad", "this machine has mlx5_0, mlx5_1"},
      {"UCX_NET_DEVICES", "mlx5_0:1,eth0", "ok", ""},
      {"UCX_NET_DEVICES", "all", "ok", ""},
      {"UCX_NET_DEVICES", "bond0", "bad", "no device of that name: bond0"},
      {"UCX_NET_DEVICES", "eth0,bond0", "warning", "bond0"},
  };
  for (const Named& c : cases) {
    const Finding f = device_finding(*table().find(c.name), c.value, devices);
    EXPECT_EQ(name_of(f.state), c.state) << c.name << '=' << c.value << ": " << f.advice;
    EXPECT_NE(f.advice.find(c.part), std::string::npos) << c.name << '=' << c.value << ": " << f.advice;
    EXPECT_EQ(f.advice.empty(), f.state == FindingState::ok);
  }
  const Findings all = lint(table(), {{"NCCL_SOCKET_IFNAME", "bond0"}}, "2.28.9", nullptr, &devices);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].state, FindingState::bad);
  const LocalDevices none{{"lo"}, {}};  // as a machine from which jobs are submitted
  const Finding unknown = device_finding(*table().find("NCCL_IB_HCA"), "mlx5", none);
  EXPECT_NE(unknown.advice.find("has no verbs device"), std::string::npos);
  EXPECT_EQ(unknown.state, FindingState::absent);
}

TEST(Lint, ReleasesMatter) {
  EXPECT_TRUE(one("NCCL_NVLS_ENABLE", "2", "2.29.2").starts_with("ok"));
  EXPECT_TRUE(one("NCCL_NVLS_ENABLE", "2", "2.26.2").starts_with("ok"));
  EXPECT_TRUE(one("NCCL_NVLS_ENABLE", "2", "").starts_with("ok"));  // nobody knows which release runs
  EXPECT_TRUE(one("NCCL_ALGO", "tree", "2.23.4").starts_with("warning"));
  EXPECT_TRUE(one("NCCL_SOCKET_MAGIC", "1", "2.30.7").starts_with("ok"));
  EXPECT_TRUE(one("NCCL_SOCKET_MAGIC", "1", "").starts_with("ok"));
}

TEST(Lint, SocketsHaveABoundOnTheirProduct) {
  const auto text = [](const char* threads, const char* each) {
    std::string out;
    for (const Finding& f :
         lint(table(), {{"NCCL_SOCKET_NTHREADS", threads}, {"NCCL_NSOCKS_PERTHREAD", each}}, "", nullptr)) {
      if (f.state == FindingState::warning) out += f.check + ": " + f.expected;
    }
    return out;
  };
  EXPECT_EQ(text("8", "8"), "");
  EXPECT_EQ(text("16", "8"), "NCCL_NSOCKS_PERTHREAD: at most 4 with NCCL_SOCKET_NTHREADS=16");
}

TEST(VariableTable, IsInOrder) {
  std::map<std::string, int> counts;
  for (const Variable& v : table().variables) {
    ++counts[v.name];
    EXPECT_TRUE(is_linted(v.name)) << v.name;
    EXPECT_TRUE(v.standard.empty() || value_problem(v, v.standard).empty()) << v.name << ": default " << v.standard;
    const bool has_values = v.kind == ValueKind::choice || v.kind == ValueKind::selection;
    EXPECT_EQ(has_values, !v.values.empty()) << v.name;
    EXPECT_LE(v.at_least, v.at_most) << v.name;
    EXPECT_TRUE(v.until.empty() || parse_version(v.since) <= parse_version(v.until)) << v.name;
  }
  for (const auto& [name, count] : counts) EXPECT_EQ(count, 1) << name;
  for (const Caution& c : table().cautions) {
    EXPECT_NE(table().find(c.name), nullptr) << c.name;
    EXPECT_TRUE(c.with.empty() || table().find(c.with) != nullptr) << c.name << " with " << c.with;
    EXPECT_EQ(c.with.empty(), c.with_values.empty() && c.unless_values.empty()) << c.name;
  }
}

}  // namespace
}  // namespace octet
