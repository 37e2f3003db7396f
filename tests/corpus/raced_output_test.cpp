// Another command that makes the output while this one begins. The lock's call is this program's own here, and the
// system's where no test asks for more.
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "src/corpus/part_folder.h"
#include "tests/corpus/corpus_test.h"

namespace {

std::function<void()> before_tokens_lock;  ///< of PREFIX.bin.tmp

bool is_of_tokens(int file) {
  std::error_code failed;
  const auto path = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", file), failed);
  return path.string().ends_with("/out/x.bin.tmp");
}

}  // namespace

extern "C" int flock(int file, int operation) noexcept {
  if (before_tokens_lock && is_of_tokens(file)) std::exchange(before_tokens_lock, nullptr)();
  return static_cast<int>(syscall(SYS_flock, file, operation));
}

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::CorpusTest;
using test::error_of;
using test::write_bytes;

class RacedOutput : public CorpusTest {
 protected:
  RacedOutput() {
    for (int file = 0; file < 4; ++file) write_bytes(folder_ / fmt::format("in/{}.txt", file), std::string(900, 'x'));
    PrepareOptions o = options({"in"}, "y");
    o.eos = false;
    prepare(o);
    other_ = both("y");
  }
  PrepareOptions run(std::int64_t part_bytes) const {
    PrepareOptions o = options({"in"});
    o.overwrite = false;
    o.workers = 1;
    o.part_bytes = part_bytes;
    return o;
  }
  /// Of another command, which was faster.
  void put_other() const {
    for (const char* end : {".data.json", ".bin", ".idx"}) {
      fs::copy_file(folder_ / (std::string("out/y") + end), folder_ / (std::string("out/x") + end));
    }
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "out")) names.insert(entry.path().filename());
    return names;
  }
  std::string other_;
};

TEST_F(RacedOutput, OfAnotherCommandStays) {
  for (const std::int64_t part_bytes : {std::int64_t{1} << 30, std::int64_t{1000}}) {
    before_tokens_lock = [&] { put_other(); };
    EXPECT_HAS(error_of([&] { prepare(run(part_bytes)); }), "x.bin exists; --overwrite replaces it");
    EXPECT_FALSE(before_tokens_lock);
    EXPECT_EQ(both(), other_);
    // The next call does not take it for what the refused one had begun.
    EXPECT_HAS(error_of([&] { prepare(run(part_bytes)); }), "x.bin exists; --overwrite replaces it");
    EXPECT_EQ(files(), (std::set<std::string>{"x.bin", "x.data.json", "x.idx", "y.bin", "y.data.json", "y.idx"}));
    for (const char* end : {".data.json", ".bin", ".idx"}) fs::remove(folder_ / (std::string("out/x") + end));
  }
}

/// Parts of the run before it stay, and go on where the output is gone again.
TEST_F(RacedOutput, OfAnotherCommandTakesNoPartsAway) {
  const std::string bad = folder_ / "in/4.jsonl", line = "{\"text\": \"" + std::string(500, 'm') + "\"}\n";
  write_bytes(bad, line + "{\n");
  EXPECT_HAS(error_of([&] { prepare(run(1000)); }), "more than --max-bad 0 allows");
  write_bytes(bad, line);
  before_tokens_lock = [&] { put_other(); };
  for (int i = 0; i < 2; ++i) {
    EXPECT_HAS(error_of([&] { prepare(run(1000)); }), "x.bin exists; --overwrite replaces it");
    EXPECT_EQ(both(), other_);
  }
  for (const char* end : {".data.json", ".bin", ".idx"}) fs::remove(folder_ / (std::string("out/x") + end));
  const PrepareReport report = prepare(run(1000));
  EXPECT_EQ(report.parts_before, 4);
  EXPECT_EQ(report.parts, 5);
}

}  // namespace
}  // namespace octet
