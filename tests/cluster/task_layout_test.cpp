#include "src/cluster/task_layout.h"

#include <gtest/gtest.h>

#include "src/base/error.h"

namespace octet {
namespace {

using Tasks = std::vector<std::int64_t>;

TEST(TaskLayout, ExpandsAndCompresses) {
  EXPECT_EQ(expand_tasks("4"), Tasks{4});
  EXPECT_EQ(expand_tasks("8(x3),4"), (Tasks{8, 8, 8, 4}));
  EXPECT_EQ(expand_tasks("2,1(x2)"), (Tasks{2, 1, 1}));
  EXPECT_EQ(compress_tasks({8, 8, 8, 4}), "8(x3),4");
  EXPECT_EQ(compress_tasks({4}), "4");
}

TEST(TaskLayout, PlacesRanksNodeByNode) {
  const Tasks tasks = {2, 1, 3};
  const Tasks nodes = {0, 0, 1, 2, 2, 2}, locals = {0, 1, 0, 0, 1, 2};
  for (std::int64_t rank = 0; rank < 6; ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    EXPECT_EQ(place_of(rank, tasks).node, nodes[i]);
    EXPECT_EQ(place_of(rank, tasks).local, locals[i]);
  }
  EXPECT_THROW(place_of(6, tasks), Error);
  EXPECT_THROW(place_of(-1, tasks), Error);
}

TEST(TaskLayout, AtClusterSizes) {
  for (const std::int64_t ranks : {512, 4096}) {
    const std::string text = fmt::format("8(x{})", ranks / 8);
    const Tasks tasks = expand_tasks(text);
    EXPECT_EQ(total_tasks(tasks), ranks);
    EXPECT_EQ(compress_tasks(tasks), text);
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const TaskPlace place = place_of(rank, tasks);
      ASSERT_EQ(place.node, rank / 8);
      ASSERT_EQ(place.local, rank % 8);
    }
  }
}

TEST(TaskLayout, RefusesWhatIsNone) {
  for (const char* text :
       {"", "8(x", "8(x2", "8(2)", "0", "8,", "8(x0)", "-1", "8 ", "8(x70000)", "99999999999999999999"}) {
    EXPECT_THROW(expand_tasks(text), Error) << text;
  }
}

}  // namespace
}  // namespace octet
