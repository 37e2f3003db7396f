// What lies in a folder PREFIX.parts and is not Octet's stays, whatever is asked for.
#include <sys/file.h>

#include "src/corpus/part_files.h"
#include "src/corpus/part_folder.h"
#include "tests/corpus/corpus_test.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::CorpusTest;
using test::error_of;
using test::read_bytes;
using test::write_bytes;

class ForeignParts : public CorpusTest {
 protected:
  ForeignParts() {
    for (int file = 0; file < 3; ++file) {
      write_bytes(folder_ / fmt::format("in/{}.txt", file), std::string(3000, static_cast<char>('a' + file)));
    }
    fs::create_directories(folder_ / "out");
  }
  /// In several parts and at once, with --overwrite and without.
  std::vector<PrepareOptions> ways(const std::string& input = "in") const {
    std::vector<PrepareOptions> all;
    for (const std::int64_t part_bytes : {std::int64_t{2000}, std::int64_t{1} << 30}) {
      for (const bool overwrite : {true, false}) {
        PrepareOptions o = options({input});
        o.part_bytes = part_bytes;
        o.overwrite = overwrite;
        all.push_back(o);
      }
    }
    return all;
  }
  /// Every file of the parts' folder with what it has.
  std::map<std::string, std::string> there() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(parts_)) {
      files[entry.path()] = entry.is_regular_file() ? read_bytes(entry.path()) : "";
    }
    return files;
  }
  void expect_refused(const std::string& input, const std::string& message) {
    const auto before = there();
    for (const PrepareOptions& o : ways(input)) {
      EXPECT_HAS(error_of([&] { prepare(o); }), message);
      EXPECT_TRUE(there() == before);
      EXPECT_FALSE(fs::exists(folder_ / "out/x.idx"));
    }
  }
  void expect_taken_away() {
    for (const char* file : {"x.bin", "x.idx"}) fs::remove(fs::path(folder_ / "out") / file);
  }
  const std::string parts_ = folder_ / "out/x.parts";
};

TEST(PartFiles, AreToldByTheirNames) {
  for (const char* name :
       {"lock", "making.json", "making.json.0-12345.tmp", "joined.json", "joined.json.3-1.tmp", "00000.bin",
        "00000.idx", "00012.bin.tmp", "00012.idx.tmp", "00012.json", "00012.json.0-77.tmp", "00012.data.json",
        "00012.data.json.0-77.tmp", "123456.bin", "00012-holdout.bin", "00012-holdout.idx.tmp",
        "00012-holdout.data.json", "00012-holdout.data.json.1-2.tmp"}) {
    EXPECT_TRUE(is_part_file(name)) << name;
  }
  for (const char* name :
       {"", ".", "..", "crawl.jsonl", "00000", "00000.txt", "00000.jsonl", "0000.bin", "00000.bin.gz", "a00000.bin",
        "00000.bin\n", "00000-other.bin", "00000.json.tmp", "making.json.tmp", "making.json.0-x.tmp", "making.jsonl",
        "lock.txt", "00000.data.jsonl", "00000.range.json"}) {
    EXPECT_FALSE(is_part_file(name)) << name;
  }
  EXPECT_FALSE(is_part_file(std::string(100000, '0')));
}

TEST_F(ForeignParts, ThatAreTheInputAreRefused) {
  write_bytes(parts_ + "/a.txt", std::string(3000, 'a'));
  write_bytes(parts_ + "/00001.json", std::string(3000, 'b'));
  write_bytes(parts_ + "/deep/b.txt", "text");
  const std::string message = ", where the parts of the output would be made: take another --output";
  expect_refused("out/x.parts", message);
  expect_refused("out/x.parts/deep", message);
  expect_refused("out/x.parts/deep/b.txt", message);
  expect_refused("out", message);
  fs::create_directory_symlink(parts_, folder_ / "link");
  expect_refused("link", message);
}

TEST_F(ForeignParts, WithoutAMakingAreRefused) {
  write_bytes(parts_ + "/deep/b.txt", "text");
  expect_refused("in",
                 parts_ + " has deep and no making.json that octet prepare wrote: it is not known whose they are");
  for (const char* name : {"00000.bin", "00000.idx", "a.txt"}) write_bytes(parts_ + "/" + name, name);
  expect_refused("in", " has 00000.bin, 00000.idx, a.txt and 1 more and no making.json");
  for (const char* making : {"", "{}", "[1]", "{\"a\": \"b\"}", "{\"--input\": 7}", "{"}) {
    write_bytes(parts_ + "/making.json", making);
    expect_refused("in", " has 00000.bin, 00000.idx, a.txt and 2 more and no making.json that octet prepare wrote");
  }
}

TEST_F(ForeignParts, WithALockOfTheUsersAreRefused) {
  write_bytes(parts_ + "/lock", "mine");
  expect_refused("in", parts_ + "/lock: is no lock of octet prepare, which is an empty file");
  fs::remove(parts_ + "/lock");
  fs::create_symlink(folder_ / "in/0.txt", parts_ + "/lock");
  expect_refused("in", parts_ + "/lock: is no lock of octet prepare");
}

TEST_F(ForeignParts, BehindALinkAreRefused) {
  const std::string target = folder_ / "elsewhere";
  write_bytes(target + "/00000.bin", "mine");
  fs::create_directory_symlink(target, parts_);
  expect_refused("in", parts_ + ": is a symbolic link, which is not followed");
  EXPECT_EQ(read_bytes(target + "/00000.bin"), "mine");
  fs::remove(parts_);
  fs::create_symlink(folder_ / "nowhere", parts_);
  for (const PrepareOptions& o : ways()) EXPECT_HAS(error_of([&] { prepare(o); }), "is a symbolic link");
  EXPECT_TRUE(fs::is_symlink(parts_));
}

TEST_F(ForeignParts, ThatAreNoFolderAreRefused) {
  write_bytes(parts_, "mine");
  for (const PrepareOptions& o : ways()) EXPECT_HAS(error_of([&] { prepare(o); }), parts_ + ": is no folder");
  EXPECT_EQ(read_bytes(parts_), "mine");
}

TEST_F(ForeignParts, BesideOctetsStay) {
  for (PrepareOptions o : ways()) {
    if (!o.overwrite) continue;
    PartFolder(o.output, {{"--input", "of another run"}}, true).set_finished(0, {});
    write_bytes(parts_ + "/00000.bin", "of another run");
    write_bytes(parts_ + "/notes.txt", "mine");
    write_bytes(parts_ + "/deep/00000.bin", "mine");
    testing::internal::CaptureStderr();
    prepare(o);
    EXPECT_HAS(testing::internal::GetCapturedStderr(), parts_ + ": cannot be removed: Directory not empty");
    const std::map<std::string, std::string> mine = {
        {parts_ + "/notes.txt", "mine"}, {parts_ + "/deep", ""}, {parts_ + "/deep/00000.bin", "mine"}};
    EXPECT_TRUE(there() == mine);
    EXPECT_HAS(error_of([&] { prepare(o); }), " has deep, notes.txt and no making.json");
    fs::remove_all(parts_);
  }
}

/// Killed before it had its making.json.
TEST_F(ForeignParts, ThatOctetHasOnlyBegunAreTakenOver) {
  for (const std::set<std::string>& names :
       std::vector<std::set<std::string>>{{}, {"lock"}, {"lock", "making.json.0-123.tmp"}, {"making.json.0-123.tmp"}}) {
    for (const PrepareOptions& o : ways()) {
      fs::create_directory(parts_);
      for (const std::string& name : names) write_bytes(parts_ + "/" + name, name == "lock" ? "" : "{");
      EXPECT_NO_THROW(prepare(o));
      EXPECT_EQ(tokens().size(), 9003U);
      EXPECT_FALSE(fs::exists(parts_));
      expect_taken_away();
    }
  }
}

TEST_F(ForeignParts, ThatAnotherProcessMakesAreRefused) {
  write_bytes(parts_ + "/00000.bin", "of the other process");  // whose making.json is gone as it comes to its end
  write_bytes(parts_ + "/lock", "");
  const FileHandle lock = open_to_write((parts_ + "/lock").c_str(), O_RDWR);
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  expect_refused("in", parts_ + " is being written by another process");
}

}  // namespace
}  // namespace octet
