// A rank that has done its part of an exchange over MPI waits for its device, and calls MPI no more. The others must
// come to the end of the exchange without it.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "src/comm/control_exchange.h"
#include "src/comm/mpi/mpi_communicator.h"

namespace octet {
namespace {

class Leaving : public testing::Test {
 protected:
  void SetUp() override {
    if (group_->size() == 1) GTEST_SKIP() << "nobody else is there";
  }

  /// Each rank in turn leaves after `exchange` and comes back when the files of all others are there.
  void others_end_without_the_one_that_left(const std::string& name, const std::function<void()>& exchange) {
    for (int away = 0; away < group_->size(); ++away) {
      const std::filesystem::path folder = common_folder();
      exchange();
      if (group_->rank() != away) {
        std::ofstream(folder / std::to_string(group_->rank())) << "";
      } else {
        EXPECT_TRUE(waits_for_files(folder)) << name << ": the others wait for rank " << away;
      }
      group_->barrier();
      if (group_->rank() == 0) std::filesystem::remove_all(folder);
    }
  }

  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> group_ = make_mpi_communicator(*stream_, "control");

 private:
  std::filesystem::path common_folder() {
    std::string path = (std::filesystem::temp_directory_path() / "octet-leaving-XXXXXX").string();
    if (group_->rank() == 0) path = mkdtemp(path.data());
    return broadcast_bytes(path, 0, *group_);
  }

  /// Without MPI, as in a wait for the device.
  bool waits_for_files(const std::filesystem::path& folder) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const auto there = [&] {
      return std::distance(std::filesystem::directory_iterator(folder), {}) == group_->size() - 1;
    };
    while (!there() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return there();
  }
};

TEST_F(Leaving, HoldsUpNoAgreement) {
  others_end_without_the_one_that_left("largest",
                                       [&] { EXPECT_EQ(largest(group_->rank(), *group_), group_->size() - 1); });
  others_end_without_the_one_that_left("barrier", [&] { group_->barrier(); });
}

TEST_F(Leaving, HoldsUpNoExchangeOfManyBytes) {
  const std::string mine(1 << 20, static_cast<char>('a' + group_->rank()));  // more than MPI sends unasked
  others_end_without_the_one_that_left("gather_bytes",
                                       [&] { EXPECT_EQ(gather_bytes(mine, *group_).back().size(), mine.size()); });
  others_end_without_the_one_that_left("broadcast_bytes",
                                       [&] { EXPECT_EQ(broadcast_bytes(mine, 0, *group_).front(), 'a'); });
}

}  // namespace
}  // namespace octet
