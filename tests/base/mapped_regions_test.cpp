#include "src/base/mapped_regions.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

namespace octet {
namespace {

/// Two pages of a file that has lost the second.
class CutFile {
 public:
  CutFile() {
    const int file = mkstemp(path_);
    EXPECT_EQ(ftruncate(file, 2 * page_), 0);
    bytes_ = static_cast<const char*>(mmap(nullptr, 2 * page_, PROT_READ, MAP_SHARED, file, 0));
    EXPECT_EQ(ftruncate(file, page_), 0);
    close(file);
  }
  ~CutFile() {
    munmap(const_cast<char*>(bytes_), 2 * page_);
    unlink(path_);
  }
  std::string path() const { return path_; }
  const char* bytes() const { return bytes_; }
  std::size_t size() const { return 2 * page_; }
  void read() const { [[maybe_unused]] const volatile char byte = bytes_[page_]; }

 private:
  const std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  char path_[32] = "/tmp/octet-cut-XXXXXX";
  const char* bytes_ = nullptr;
};

/// How a process ends that does this.
int status_of(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(MappedRegions, TheFileOfAFaultIsKnownToTheOtherThreads) {
  const CutFile file, other;
  const int status = status_of([&] {
    const mapped_regions::Guard guard;
    mapped_regions::add(other.bytes(), other.size(), other.path());
    mapped_regions::add(file.bytes(), file.size(), file.path());
    std::thread([&] { file.read(); }).detach();
    while (mapped_regions::unreadable() == nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    _exit(mapped_regions::unreadable() == file.path() ? 7 : 8);
  });
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

/// Data in thousands of parts, and some of them closed meanwhile.
TEST(MappedRegions, ThousandsOfFilesFitAndAPlaceIsUsedAgain) {
  const CutFile file, other;
  const int status = status_of([&] {
    const mapped_regions::Guard guard;
    for (int i = 0; i < 5000; ++i) mapped_regions::add(other.bytes(), other.size(), other.path());
    for (const int closed : {4500, 3, 1024}) mapped_regions::remove(closed);
    for (const int expected : {3, 1024, 4500, 5000}) {
      if (mapped_regions::add(other.bytes(), other.size(), other.path()) != expected) _exit(6);
    }
    mapped_regions::add(file.bytes(), file.size(), file.path());
    std::thread([&] { file.read(); }).detach();
    while (mapped_regions::unreadable() == nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    _exit(mapped_regions::unreadable() == file.path() ? 7 : 8);
  });
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(MappedRegions, AnyOtherFaultFindsTheHandlerThatWasThere) {
  const CutFile file, other;
  const int status = status_of([&] {
    std::signal(SIGBUS, [](int) { _exit(9); });
    const mapped_regions::Guard guard;
    mapped_regions::add(other.bytes(), other.size(), other.path());
    mapped_regions::remove(mapped_regions::add(file.bytes(), file.size(), file.path()));
    file.read();
  });
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 9);
}

}  // namespace
}  // namespace octet
