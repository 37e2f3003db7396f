// What NCCL reads in the environment of a run, for the memory plan.
#include "src/train/plan/nccl_variables.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "src/cluster/environment/job_environment.h"

namespace octet {
namespace {

/// Of a job whose profile sets that one.
NcclVariables with(const std::string& name, const std::string& value) {
  return nccl_variables({}, {{name, value, "for this test"}});
}

TEST(NcclVariables, AreReadAsNcclReadsThem) {
  constexpr NcclVariables none;
  EXPECT_EQ(nccl_variables({}, {}), none);
  EXPECT_EQ(with("NCCL_BUFFSIZE", "8388608").buffer, 8 << 20);
  EXPECT_EQ(with("NCCL_BUFFSIZE", "0x800000").buffer, 8 << 20);
  EXPECT_EQ(with("NCCL_BUFFSIZE", "4M").buffer, 4) << "a unit is no number";
  for (const char* no_size : {"", "M", "0", "-2", "-1", "4294967296", "99999999999999999999"}) {
    EXPECT_EQ(with("NCCL_BUFFSIZE", no_size), none) << no_size;
  }
  EXPECT_EQ(with("NCCL_NVLS_CHUNKSIZE", "524288").nvls_chunk, 512 << 10);
  EXPECT_EQ(with("NCCL_P2P_NET_CHUNKSIZE", "524288").message_chunk, 512 << 10);
  for (const auto& [text, when_used] : {std::pair{"0", false},
                                        {"1", true},
                                        {"2", true},
                                        {"-1", true},
                                        {"", true},
                                        {"99999999999999999999", true},
                                        {"no", false}}) {
    EXPECT_EQ(with("NCCL_RUNTIME_CONNECT", text).connects_when_used, when_used) << text;
  }
  for (const auto& [text, when_used] :
       {std::pair{"0", false}, {"1", true}, {"-2", true}, {"-1", false}, {"", true}, {"off", false}}) {
    EXPECT_EQ(with("NCCL_CUMEM_ENABLE", text).connects_when_used, when_used) << text;
  }
}

TEST(NcclVariables, OfAJobAreThoseOfItsProfileElseOfTheShell) {
  ClusterProfile meta = read_profile("grand-teton");
  meta.environment.variables.push_back({.name = "NCCL_RUNTIME_CONNECT", .value = "0", .reason = "a test"});
  const ClusterProfile aws = read_profile("aws-p5-efa");
  EXPECT_EQ(nccl_variables(meta, job_environment(meta, "")), (NcclVariables{.connects_when_used = false}));
  EXPECT_EQ(nccl_variables(aws, job_environment(aws, "")),
            (NcclVariables{.buffer = 8 << 20, .nvls_chunk = 512 << 10, .message_chunk = 512 << 10}));

  EXPECT_EQ(nccl_variables(), NcclVariables{});
  setenv("NCCL_BUFFSIZE", "16777216", 1);
  const NcclVariables own = nccl_variables(), of_aws = nccl_variables(aws, job_environment(aws, "")),
                      of_meta = nccl_variables(meta, job_environment(meta, ""));
  ClusterProfile without;
  without.environment.variables = {{.name = "NCCL_BUFFSIZE", .value = "", .reason = "not here", .unset = true}};
  const NcclVariables unset = nccl_variables(without, job_environment(without, ""));
  unsetenv("NCCL_BUFFSIZE");
  EXPECT_EQ(own, NcclVariables{.buffer = 16 << 20});
  EXPECT_EQ(of_aws.buffer, 8 << 20);
  EXPECT_EQ(of_meta, (NcclVariables{.connects_when_used = false, .buffer = 16 << 20}));
  EXPECT_EQ(unset, NcclVariables{});
}

}  // namespace
}  // namespace octet
