#include "src/comm/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdarg>
#include <optional>
#include <string_view>

#include "src/base/error.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "tests/support/no_files.h"

namespace {
int interruptions = 0;          ///< how often it is still to say so
bool in_own_namespace = false;  ///< whether this rank may not open the files of others
}  // namespace

/// In place of glibc's: newer kernels let no signal interrupt an allocation in memory, older ones do.
extern "C" int posix_fallocate(int file, off_t offset, off_t bytes) {
  if (interruptions > 0) return --interruptions, EINTR;
  return fallocate(file, 0, offset, bytes) == 0 ? 0 : errno;
}

/// In place of glibc's: what a process has open, none of another user namespace can open.
extern "C" int open(const char* path, int flags, ...) {
  const std::string_view file = path;
  if (in_own_namespace && file.starts_with("/proc/") && file.find("/fd/") != std::string_view::npos) {
    return errno = EACCES, -1;
  }
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return ::openat(AT_FDCWD, path, flags, mode);
}

namespace octet {
namespace {

class Shared : public testing::Test {
 protected:
  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> world_ = make_mpi_communicator(*stream_, "world");
  std::unique_ptr<Communicator> node_ = world_->split_by_node("node");
  const int rank_ = node_->rank();

  SharedMemory shared(std::int64_t bytes) const {
    SharedMemory memory(*node_);
    memory.share(bytes);
    return memory;
  }
};

/// Byte `i` of a rank's part in a round.
char value(int round, int rank, std::int64_t i) {
  return static_cast<char>(round * 31 + rank * 7 + i % 101);
}

TEST_F(Shared, TheRanksOfAMachineAreOneNodeInTheirOrder) {
  EXPECT_EQ(node_->size(), world_->size());
  EXPECT_EQ(node_->rank(), world_->rank());
  EXPECT_EQ(node_->name(), "node");
  EXPECT_EQ(make_self_communicator(*stream_, "self")->split_by_node("node")->size(), 1);
}

TEST_F(Shared, EveryRankSeesWhatEachWrote) {
  const auto bytes_of = [](int rank) { return std::int64_t{5000} * rank + (rank == 0 ? 0 : 3); };  // rank 0 has none
  const SharedMemory memory = shared(bytes_of(rank_));
  for (int r = 0; r < node_->size(); ++r) ASSERT_EQ(memory.bytes(r), bytes_of(r));
  for (int round = 0; round < 3; ++round) {
    for (std::int64_t i = 0; i < bytes_of(rank_); ++i) memory.part(rank_)[i] = value(round, rank_, i);
    node_->barrier();
    for (int r = 0; r < node_->size(); ++r) {
      for (std::int64_t i = 0; i < bytes_of(r); ++i) ASSERT_EQ(memory.part(r)[i], value(round, r, i)) << r;
    }
    node_->barrier();
  }
  EXPECT_EQ(memory.part(0), nullptr);
}

TEST_F(Shared, AllocationThatASignalInterruptsGoesOn) {
  constexpr std::int64_t bytes = (9 << 20) + 5;
  interruptions = 3;
  const SharedMemory memory = shared(bytes);
  EXPECT_EQ(interruptions, 0);
  for (int r = 0; r < node_->size(); ++r) EXPECT_EQ(memory.part(r)[bytes - 1], 0);
}

TEST_F(Shared, APartOutlivesTheRankThatMadeIt) {
  std::optional<SharedMemory> memory = shared(100);
  memory->part(rank_)[99] = value(0, rank_, 99);
  node_->barrier();
  if (rank_ != 0) memory.reset();
  node_->barrier();
  for (int r = 0; rank_ == 0 && r < node_->size(); ++r) EXPECT_EQ(memory->part(r)[99], value(0, r, 99));
}

TEST_F(Shared, IsReplacedByLarger) {
  SharedMemory memory;
  EXPECT_EQ(memory.bytes(rank_), 0);
  for (const std::int64_t bytes : {10, 100'000}) {
    memory = shared(bytes);
    EXPECT_EQ(memory.bytes(node_->size() - 1), bytes);
    EXPECT_EQ(memory.part(rank_)[bytes - 1], 0);
  }
}

TEST_F(Shared, ARankThatHasNoneIsNamedByAll) {
  const int poor = node_->size() - 1;
  std::optional<test::NoFiles> limit;
  if (rank_ == poor) limit.emplace();
  std::string text;
  try {
    shared(4096);
  } catch (const Error& e) {
    text = e.what();
  }
  const std::string expected = fmt::format("rank {} of group node cannot share 4096 bytes", poor);
  EXPECT_NE(text.find(expected), std::string::npos) << text;
  EXPECT_NE(text.find("Too many open files"), std::string::npos) << text;
}

TEST_F(Shared, BetweenUserNamespacesTheErrorSaysWhatHelps) {
  in_own_namespace = rank_ == 0;
  std::string text;
  try {
    shared(4096);
  } catch (const Error& e) {
    text = e.what();
  }
  in_own_namespace = false;
  EXPECT_NE(text.find("rank 0 of group node cannot share 4096 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("Permission denied; between user namespaces"), std::string::npos) << text;
  EXPECT_NE(text.find("container.options: [--sharens]"), std::string::npos) << text;
}

}  // namespace
}  // namespace octet
