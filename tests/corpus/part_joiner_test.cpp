// Parts are joined while further ones are made, and whatever interrupts that, the next joiner goes on.
#include "src/corpus/part_joiner.h"

#include <cstring>
#include <numeric>
#include <thread>

#include "src/data/token_file.h"
#include "src/data/token_writer.h"
#include "tests/corpus/corpus_test.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::write_bytes;

class Joiner : public test::CorpusTest {
 protected:
  std::string prefix(int part) const { return folder_ / fmt::format("parts/{}", part); }
  bool is_taken(int part) const { return !fs::exists(prefix(part) + ".bin"); }

  /// A document of 100 tokens, which are the part's number.
  void make(int part) const {
    TokenFileWriter writer(prefix(part), TokenType::u16, {.overwrite = true});
    writer.append(std::vector<std::int32_t>(100, part));
    writer.end_document();
    writer.finish();
  }
  std::vector<PartJoiner::Output> output() const {
    return {{.prefix = folder_ / "whole", .parts = {prefix(0), prefix(1), prefix(2)}}};
  }
  void expect_whole() const {
    const TokenFile whole(folder_ / "whole");
    ASSERT_EQ(whole.tokens(), 300);
    std::vector<std::int32_t> ids(300);
    whole.read(0, ids, 3);
    EXPECT_EQ(std::accumulate(ids.begin(), ids.end(), 0), 300);
    EXPECT_EQ(ids[99], 0);
    EXPECT_EQ(ids[299], 2);
    EXPECT_EQ(whole.documents(), 3);
  }
  void wait_until_taken(int part) const {
    while (!is_taken(part)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

TEST_F(Joiner, TakesEachPartWhenItAndThoseBeforeAreFinished) {
  make(0);
  make(2);
  PartJoiner joiner(output(), {true, false, true});
  wait_until_taken(0);
  EXPECT_FALSE(is_taken(2));  // 1 comes before it
  make(1);
  joiner.part_is_finished(1);
  joiner.finish();
  expect_whole();
}

TEST_F(Joiner, GoesOnAfterOneThatWasGivenUp) {
  make(0);
  {
    PartJoiner given_up(output(), {true, false, false});
    wait_until_taken(0);
  }
  EXPECT_FALSE(fs::exists(folder_ / "whole.bin"));
  make(1);
  make(2);
  PartJoiner(output(), {true, true, true}).finish();
  expect_whole();
  PartJoiner(output(), {true, true, true}).finish();  // as if all but the last word of it had been done
  expect_whole();
}

TEST_F(Joiner, SaysWhatIsWrongWithAPart) {
  for (const int part : {0, 1, 2}) make(part);
  write_bytes(prefix(1) + ".bin", "short");
  PartJoiner joiner(output(), {true, true, true});
  EXPECT_HAS(error_of([&] { joiner.finish(); }), "parts/1.bin has 5 bytes; its index says 200: remove ");
  EXPECT_HAS(error_of([&] { joiner.part_is_finished(2); }), "parts/1.bin has 5 bytes");
  EXPECT_FALSE(fs::exists(folder_ / "whole.idx"));
}

TEST_F(Joiner, SaysThatAPartsIndexIsDamaged) {
  for (const int part : {0, 1, 2}) make(part);
  const std::string path = prefix(1) + ".idx", whole = test::read_bytes(path);
  const auto counts = [&](std::int64_t sequences, std::int64_t boundaries) {
    std::string bytes = whole;
    std::memcpy(bytes.data() + 18, &sequences, sizeof sequences);
    std::memcpy(bytes.data() + 26, &boundaries, sizeof boundaries);
    return bytes;
  };
  // The magic, the version, the token type, a size, an offset, and the documents' ends.
  const auto changed = [&](std::size_t at, char to) {
    std::string bytes = whole;
    bytes[at] = to;
    return bytes;
  };
  ASSERT_EQ(counts(1, 2), whole);
  // 12 * 2^62 and 8 * 2^61 are 0 in 64 bits.
  for (const std::string& bytes :
       {counts(1 + (std::int64_t{1} << 62), 2), counts(1, 2 + (std::int64_t{1} << 61)), counts(-1, 2), counts(1, -2),
        counts(3, -1), counts(2, 2), std::string(), whole.substr(0, 33), whole + "x", changed(0, 'x'), changed(9, '\2'),
        changed(17, '\3'), changed(37, '\xff'), changed(38, '\1'), changed(46, '\1'), changed(54, '\2')}) {
    write_bytes(path, bytes);
    PartJoiner joiner(output(), {true, true, false});
    const std::string error = error_of([&] { joiner.finish(); });
    EXPECT_HAS(error, "parts/1.idx: ");
    EXPECT_HAS(error, "; remove " + path + " to have the part made again");
    EXPECT_FALSE(is_taken(1));
  }
}

}  // namespace
}  // namespace octet
