// What all ranks look at together, and one of them for all.
#include "src/comm/look_together.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "src/base/read_file.h"
#include "src/comm/control_exchange.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "tests/support/expect_has.h"
#include "tests/support/temp_folder.h"

namespace octet {
namespace {

class LookTogether : public testing::Test {
 protected:
  /// The usage error that all ranks throw alike.
  template <typename Call>
  std::string common_error(const Call& call) {
    std::string text;
    try {
      call();
      ADD_FAILURE() << "nothing thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_TRUE(error.agreed());
      text = error.what();
    }
    for (const std::string& other : gather_bytes(text, *world_)) EXPECT_EQ(other, text);
    return text;
  }

  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> world_ = make_mpi_communicator(*stream_, "world");
  test::TempFolder folder_;
  const std::string told_ = "gone: No such file or directory; it went away while it was looked at";
};

TEST_F(LookTogether, DoesNotReturnWhereALookHasNotComeToItsEnd) {
  const bool last = world_->rank() == world_->size() - 1;
  int looks = 0;
  const auto look = [&] {
    ++looks;
    if (last) throw files::ReadError(folder_ / "gone", ENOENT);
  };
  EXPECT_HAS(common_error([&] { files::look_together(*world_, look); }), told_);
  EXPECT_EQ(looks, 1) << "what is not there is asked for once";
  EXPECT_NO_THROW(files::look_together(*world_, [&] { looks = 10; }));
  EXPECT_EQ(looks, 10);
}

TEST_F(LookTogether, DoesNotReturnWhereTheFirstHasNotComeToItsEnd) {
  const auto look = [&] { throw files::ReadError(folder_ / "gone", ENOENT); };
  EXPECT_HAS(common_error([&] { files::look_by_first(*world_, look); }), told_);
}

}  // namespace
}  // namespace octet
