#include "src/tuning/collective.h"

#include <gtest/gtest.h>

#include "src/base/error.h"

namespace octet {
namespace {

TEST(Collective, NamesAreReadAsOthersWriteThem) {
  EXPECT_EQ(parse_collective("AllReduce"), Collective::all_reduce);
  EXPECT_EQ(parse_collective("reduce-scatter"), Collective::reduce_scatter);
  EXPECT_EQ(parse_algorithm("NVLSTree"), Algorithm::nvls_tree);
  EXPECT_EQ(parse_protocol("LL128"), Protocol::ll128);
}

TEST(Collective, EveryNameReadsBack) {
  for (int a = 0; a < algorithm_count; ++a) {
    EXPECT_EQ(parse_algorithm(name_of(static_cast<Algorithm>(a))), static_cast<Algorithm>(a));
  }
}

TEST(Collective, UnknownNamesAreRefusedWithTheKnownOnes) {
  try {
    parse_protocol("ll256");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("ll, ll128, simple"), std::string::npos) << error.what();
  }
}

TEST(Collective, BusFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_gather, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::reduce_scatter, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::broadcast, 8), 1);
}

}  // namespace
}  // namespace octet
