// What the system's calls may do: copy nothing and say it is done, give a lock to a file that has another name by then,
// or have no locks. The calls are this program's own here, and the system's where no test asks for more.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/data/token_join.h"
#include "tests/data/support.h"

namespace {

bool copies_nothing = false;
std::function<void()> before_lock;
int lock_error = 0;  ///< of every lock, where it is not 0

}  // namespace

extern "C" ssize_t copy_file_range(int from, off64_t* from_at, int to, off64_t* to_at, size_t size,
                                   unsigned int flags) {
  if (copies_nothing) return 0;
  return syscall(SYS_copy_file_range, from, from_at, to, to_at, size, flags);
}

extern "C" int flock(int file, int operation) noexcept {
  if (before_lock) std::exchange(before_lock, nullptr)();
  if (lock_error != 0) {
    errno = lock_error;
    return -1;
  }
  return static_cast<int>(syscall(SYS_flock, file, operation));
}

namespace octet {
namespace {

TEST(TokenJoin, ACopyOfNothingIsNoCopy) {
  const test::TempFolder folder;
  for (const char* part : {"one", "two"}) {
    test::write_tokens(folder / part, 1000, TokenType::u16, [](std::int64_t i) { return i + 7; });
  }
  copies_nothing = true;
  {
    TokenJoin join(folder / "whole");
    join.take(folder / "one");
    join.take(folder / "two");
    join.finish();
  }
  copies_nothing = false;
  const TokenFile whole(folder / "whole");
  ASSERT_EQ(whole.tokens(), 2000);
  std::vector<std::int32_t> ids(2000);
  whole.read(0, ids, 2000);
  for (std::int64_t i = 0; i < 2000; ++i) ASSERT_EQ(ids[static_cast<std::size_t>(i)], i % 1000 + 7);
}

TEST(TokenFileWriter, ASecondOneLeavesWhatTheFirstOneHasJustCommitted) {
  const test::TempFolder folder;
  auto first = std::make_unique<TokenFileWriter>(folder / "x", TokenType::u8);
  first->append(std::vector<std::int32_t>{1, 2, 3});
  first->end_document();
  before_lock = [&] {  // the second one has opened the file, and has no lock yet
    first->finish();
    first.reset();
  };
  EXPECT_HAS(test::error_of([&] { TokenFileWriter(folder / "x", TokenType::u8); }), "written by another process");
  EXPECT_EQ(TokenFile(folder / "x").tokens(), 3);
}

/// Between the two names the tokens have theirs, and the first one's lock with it; the index has the temporary one.
TEST(TokenFileWriter, ASecondOneLeavesWhatTheFirstOneIsCommitting) {
  const test::TempFolder folder;
  test::write_bytes(folder / "x.bin", "tokens");
  test::write_bytes(folder / "x.idx.tmp", "index");
  FileHandle first = open_to_write((folder / "x.bin").c_str(), O_RDWR);
  ASSERT_EQ(::flock(first.get(), LOCK_EX | LOCK_NB), 0);
  const std::string message = (folder / "x.bin") + " is being written by another process";
  EXPECT_HAS(test::error_of([&] { TokenFileWriter(folder / "x", TokenType::u8, {.overwrite = true}); }), message);
  EXPECT_HAS(test::error_of([&] { TokenJoin(folder / "x"); }), message);
  EXPECT_EQ(test::read_bytes(folder / "x.bin"), "tokens");
  EXPECT_EQ(test::read_bytes(folder / "x.idx.tmp"), "index");
  first.reset();
  {
    TokenFileWriter again(folder / "x", TokenType::u8, {.overwrite = true});
    again.finish();
    TokenFileWriter(folder / "x", TokenType::u8, {.overwrite = true}).finish();  // the lock ends with the commit
  }
  EXPECT_EQ(TokenFile(folder / "x").tokens(), 0);
}

TEST(TokenJoin, ThatTookNothingLeavesNothing) {
  const test::TempFolder folder;
  { const TokenJoin join(folder / "x"); }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(TokenFileWriter, AFileSystemWithoutLocksIsNoOtherProcess) {
  const test::TempFolder folder;
  lock_error = ENOSYS;
  const std::string error = test::error_of([&] { TokenFileWriter(folder / "x", TokenType::u8); });
  lock_error = 0;
  EXPECT_HAS(error, "cannot be locked: Function not implemented; expected a file system with flock");
}

}  // namespace
}  // namespace octet
