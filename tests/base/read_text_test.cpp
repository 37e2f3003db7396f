// What is read: files that Octet keeps are regular ones, what a user gives may come from a pipe, and nothing waits for
// ever.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <thread>

#include "src/base/files.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_has.h"
#include "tests/support/temp_folder.h"

namespace octet {
namespace {

using test::error_of;
namespace fs = std::filesystem;

class ReadText : public testing::Test {
 protected:
  std::string path(const char* name) const { return folder_ / name; }
  std::string file(const char* name, std::string_view text) const {
    if (!overwrite_text(path(name), text)) throw std::runtime_error("not written");
    return path(name);
  }
  std::string pipe(const char* name) const {
    if (::mkfifo(path(name).c_str(), 0600) != 0) throw std::runtime_error("no pipe");
    return path(name);
  }
  test::TempFolder folder_;
};

TEST_F(ReadText, OfAFileAndOfALinkToOne) {
  const std::string text(100000, 'x');
  file("file", text);
  fs::create_symlink("file", folder_ / "link");
  for (const char* name : {"file", "link"}) {
    EXPECT_EQ(read_text_file(path(name)), text);
    EXPECT_EQ(text_of_file("base", path(name)), text);
    EXPECT_EQ(given_text("base", path(name)), text);
  }
  EXPECT_EQ(read_text_file(file("empty", "")), "");
}

TEST_F(ReadText, IsRefusedOfWhatIsNoRegularFile) {
  const std::string of_pipe = pipe("pipe");
  fs::create_symlink("pipe", folder_ / "link");
  for (const std::string& name : {of_pipe, path("link"), std::string("/dev/zero"), std::string("/dev/null")}) {
    EXPECT_FALSE(read_text_file(name));
    EXPECT_EQ(errno, ENOTSUP);
    EXPECT_EQ(error_of([&] { text_of_file("base", name, "a thing"); }),
              "[base] " + name + ": cannot be read: it is no regular file; expected a thing");
  }
  EXPECT_FALSE(read_text_file(folder_.path()));
  EXPECT_EQ(errno, EISDIR);
  EXPECT_FALSE(read_text_file(path("missing")));
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(ReadText, IsRefusedAboveALimit) {
  file("file", std::string(100000, 'x'));
  EXPECT_EQ(read_text_file(path("file"), 100000)->size(), 100000U);
  EXPECT_FALSE(read_text_file(path("file"), 99999));
  EXPECT_EQ(errno, EFBIG);
  EXPECT_HAS(error_of([&] { text_of_file("base", path("file"), "", 7); }), "cannot be read: File too large");
  EXPECT_HAS(error_of([&] { given_text("base", "/dev/zero", "", 1 << 20); }), "/dev/zero: cannot be read: File too");
}

TEST_F(ReadText, OfADiskThatFailsIsNoMistakeOfTheUser) {
  EXPECT_EQ(error_of([] { text_of_file("base", "/proc/self/mem", "a thing"); }, ExitCode::internal),
            "[base] /proc/self/mem: cannot be read: Input/output error; expected a thing");
  for (const int why : {ESTALE, ENOMEM, EMFILE, ENFILE, ETIMEDOUT, EREMOTEIO}) {
    errno = why;
    EXPECT_EQ(not_read("base", "x").code(), ExitCode::internal) << why;
  }
  for (const int why : {ENOENT, EACCES, EISDIR, ENOTDIR, ELOOP, ENOTSUP, EFBIG}) {
    errno = why;
    EXPECT_EQ(not_read("base", "x").code(), ExitCode::usage) << why;
  }
}

TEST_F(ReadText, ThatIsGivenComesFromAPipeToo) {
  const std::string name = pipe("pipe"), text(200000, 'x');  // more than a pipe holds
  for (const int before : {0, 100}) {                        // in ms, that somebody takes who comes, and then writes
    std::thread writer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(before));
      const FileHandle to(::open(name.c_str(), O_WRONLY | O_CLOEXEC));
      std::this_thread::sleep_for(std::chrono::milliseconds(before));
      EXPECT_TRUE(write_all(to.get(), text));
    });
    EXPECT_EQ(given_text("base", name), text);
    writer.join();
  }
}

TEST_F(ReadText, ThatIsGivenComesFromAPipeWhoseWriterHasLeft) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const FileHandle from(ends[0]);
  FileHandle to(ends[1]);
  EXPECT_TRUE(write_all(to.get(), "text"));
  to.reset();
  EXPECT_EQ(given_text("base", "/dev/fd/" + std::to_string(from.get())), "text");
  EXPECT_EQ(given_text("base", "/dev/null"), "");
}

TEST_F(ReadText, ThatIsGivenIsNotWaitedForForEver) {
  EXPECT_EQ(error_of([&] { given_text("base", pipe("pipe"), "a thing", any_size, 0.2); }),
            "[base] " + path("pipe") + ": cannot be read: nobody writes to this pipe; expected a thing");
}

}  // namespace
}  // namespace octet
