// Ranks that were told, or have read, something else refuse to go on, all with the same words.
#include "jobs/ranks/same_lines.h"

#include <gtest/gtest.h>

#include "src/base/error.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "tests/support/expect_has.h"

namespace octet {
namespace {

class SameLines : public testing::Test {
 protected:
  std::string refused(const std::vector<std::string>& lines) {
    try {
      require_same_lines("the ranks differ", lines, *control_);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_TRUE(error.agreed());
      return error.what();
    }
    return "";
  }
  int last() const { return control_->size() - 1; }
  bool is_last() const { return control_->rank() == last(); }

  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> control_ = make_mpi_communicator(*stream_, "control");
};

TEST_F(SameLines, TheFirstThatDiffersIsNamedWithItsRanks) {
  EXPECT_EQ(refused({"a = 1", "b = 2"}), "");
  EXPECT_EQ(refused({}), "");
  if (last() == 0) return;
  const std::string last_has = fmt::format(", 1 rank(s) ({}): ", last());
  const std::string other = refused({"a = 1", is_last() ? "b = 3" : "b = 2", is_last() ? "c = 1" : "c = 2"});
  EXPECT_HAS(other, "[ranks] the ranks differ: node(s) ");
  EXPECT_HAS(other, ": b = 2; node(s) ");
  EXPECT_HAS(other, last_has + "b = 3; expected the same on every rank");
  const std::string fewer = refused(is_last() ? std::vector<std::string>{"a"} : std::vector<std::string>{"a", "b"});
  EXPECT_HAS(fewer, ": b; node(s) ");
  EXPECT_HAS(fewer, last_has + "nothing; expected");
}

TEST_F(SameLines, TheNameOfAModelMayBeAnotherAndItsShapeMayNot) {
  RunConfig config;
  config.model_name = is_last() ? "/here/tiny.yaml" : "/there/tiny.yaml";
  EXPECT_EQ(refused(option_lines(config)), "");
  if (last() == 0) return;
  config.model.layers += is_last() ? 1 : 0;
  EXPECT_HAS(refused(option_lines(config)), ": model_shape.layers = ");
}

}  // namespace
}  // namespace octet
