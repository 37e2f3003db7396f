#include "src/cluster/host_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "src/base/error.h"
#include "tests/support/error_of.h"

namespace octet {
namespace {

using Hosts = std::vector<std::string>;

TEST(HostList, ExpandsNamesRangesAndWidths) {
  EXPECT_EQ(expand_hosts(""), Hosts{});
  EXPECT_EQ(expand_hosts("login"), Hosts{"login"});
  EXPECT_EQ(expand_hosts("n[1-3,7],m01"), (Hosts{"n1", "n2", "n3", "n7", "m01"}));
  EXPECT_EQ(expand_hosts("n[08-11]"), (Hosts{"n08", "n09", "n10", "n11"}));
  EXPECT_EQ(expand_hosts("n[9-11]"), (Hosts{"n9", "n10", "n11"}));
  EXPECT_EQ(expand_hosts("n[1-2]-ib,ip-10.0.0.1"), (Hosts{"n1-ib", "n2-ib", "ip-10.0.0.1"}));
  EXPECT_EQ(expand_hosts("r[1-2]n[01-02]"), (Hosts{"r1n01", "r1n02", "r2n01", "r2n02"}));
}

TEST(HostList, CompressesRunsInOrder) {
  EXPECT_EQ(compress_hosts({}), "");
  EXPECT_EQ(compress_hosts({"n7"}), "n7");
  EXPECT_EQ(compress_hosts({"n1", "n2", "n3", "n7", "m01", "login"}), "n[1-3,7],m01,login");
  EXPECT_EQ(compress_hosts({"n3", "n1", "n2"}), "n[3,1-2]");
  EXPECT_EQ(compress_hosts({"n09", "n10", "n011"}), "n[09-10,011]");
  EXPECT_EQ(compress_hosts({"n99", "n100"}), "n[99-100]");
  EXPECT_EQ(compress_hosts({"n1-ib", "n2-ib"}), "n[1-2]-ib");
}

TEST(HostList, RefusesWithThePlace) {
  const auto message = [](const std::string& list) { return test::error_of([&] { expand_hosts(list); }); };
  EXPECT_NE(message("n[3-1]").find("range that ends at 3 or above"), std::string::npos) << message("n[3-1]");
  EXPECT_NE(message("n[1-").find("found the end at character 5"), std::string::npos) << message("n[1-");
  EXPECT_NE(message("n[]").find("expected a number"), std::string::npos);
  EXPECT_NE(message("n[1-2").find("or ]"), std::string::npos);
  EXPECT_NE(message("n1,,n2").find("a host's name"), std::string::npos);
  EXPECT_NE(message("n1,").find("a host's name"), std::string::npos);
  EXPECT_NE(message("n1;reboot").find("character 3"), std::string::npos);
  EXPECT_NE(message("n[0-999999999]").find("more than 65536 hosts"), std::string::npos);
  EXPECT_NE(message("a[1-300]b[1-300]").find("more than 65536 hosts"), std::string::npos);
  EXPECT_NE(message("n[12345678901234567890]").find("18 digits"), std::string::npos);
}

/// A cluster's nodes, shuffled by a fixed rule, some of them missing.
Hosts many_hosts(std::size_t count) {
  Hosts out;
  for (std::size_t i = 0; out.size() < count; ++i) {
    if (i % 17 != 3) out.push_back(fmt::format("rack{}-gpu{:04}", i / 64, (i * 7919) % 10000));
  }
  return out;
}

TEST(HostList, RoundTripsAtClusterSizes) {
  // 512 ranks are 64 nodes of 8; 4,096 are 512; and as many hosts as that are ranks.
  for (const std::size_t count : {64, 512, 4096}) {
    const Hosts hosts = many_hosts(count);
    EXPECT_EQ(expand_hosts(compress_hosts(hosts)), hosts);
    Hosts sorted = hosts;
    std::ranges::sort(sorted);
    EXPECT_EQ(expand_hosts(compress_hosts(sorted)), sorted);
    EXPECT_EQ(std::set(hosts.begin(), hosts.end()).size(), count);
  }
  EXPECT_EQ(compress_hosts(expand_hosts("gpu[0001-4096]")), "gpu[0001-4096]");
  EXPECT_EQ(expand_hosts("gpu[0001-4096]").size(), 4096U);
  EXPECT_EQ(expand_hosts("gpu[0001-4096]").back(), "gpu4096");
}

}  // namespace
}  // namespace octet
