#include "src/base/hosts.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

using Hosts = std::vector<std::string>;

TEST(LeftOutHosts, AreFoundInTheMessageThatNamesThem) {
  for (const Hosts& hosts : {Hosts{"node-7"}, Hosts{"a", "b.cluster", "c-1"}}) {
    EXPECT_EQ(left_out_hosts("rank 3 of 8 on a: [files] " + leave_out(hosts) + "cannot read /x: EIO"), hosts);
  }
  EXPECT_EQ(left_out_hosts(leave_out({"a"}) + "cannot read"), Hosts{"a"});
}

TEST(LeftOutHosts, OtherMessagesHaveNone) {
  for (const char* text : {"", "a plain error: x", "hosts a,b: x", "leave out ", "leave out hosts a,b"}) {
    EXPECT_EQ(left_out_hosts(text), Hosts{}) << text;
  }
}

}  // namespace
}  // namespace octet
