#include "src/base/environment.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "src/base/usable_cores.h"

namespace octet {
namespace {

TEST(Environment, AVariableThatIsNotSetIsEmpty) {
  ::setenv("OCTET_TEST_VARIABLE", "a b", 1);
  EXPECT_EQ(environment_variable("OCTET_TEST_VARIABLE"), "a b");
  ::unsetenv("OCTET_TEST_VARIABLE");
  EXPECT_EQ(environment_variable("OCTET_TEST_VARIABLE"), "");
}

TEST(Environment, ListsOfFoldersHaveNoEmptyOnes) {
  EXPECT_EQ(folders_of_list("/a::/b c:"), (std::vector<std::string>{"/a", "/b c"}));
  EXPECT_TRUE(folders_of_list("").empty());
}

TEST(UsableCores, AreThoseOfTheAffinity) {
  cpu_set_t all, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  EXPECT_EQ(usable_cores(), CPU_COUNT(&all));
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_cores(), 1);
  ASSERT_EQ(::sched_setaffinity(0, sizeof all, &all), 0);
}

}  // namespace
}  // namespace octet
