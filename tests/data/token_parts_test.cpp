// The parts that `octet prepare --part` writes, as one data source.
#include "src/base/error.h"
#include "src/data/data_facts.h"
#include "src/data/sampler.h"
#include "tests/data/support.h"
#include "tests/support/bytes_identity.h"

namespace octet {
namespace {

using test::error_of;
using test::TempFolder;

class TokenParts : public testing::Test {
 protected:
  /// Documents of `sizes` tokens, whose ids count on from `first`.
  void write(const std::string& name, const std::vector<std::int64_t>& sizes, std::int32_t first,
             TokenType type = TokenType::u16) {
    TokenFileWriter::Options options;
    options.tokenizer = test::bytes_tokenizer_identity();
    TokenFileWriter writer(folder_ / name, type, options);
    for (const std::int64_t size : sizes) {
      std::vector<std::int32_t> ids;
      for (std::int64_t i = 0; i < size; ++i) ids.push_back(first++);
      writer.append(ids);
      writer.count_text(size);
      writer.end_document();
    }
    writer.finish();
  }
  void write_parts() {
    write("x-00001-of-00004", {5, 4}, 0);
    write("x-00002-of-00004", {}, 9);
    write("x-00003-of-00004", {1}, 9);
    write("x-00004-of-00004", {7, 3}, 10);
  }
  TempFolder folder_;
};

TEST_F(TokenParts, AreOneStreamOfTokensAndDocuments) {
  write_parts();
  write("whole", {5, 4, 1, 7, 3}, 0);
  const TokenFile parts(folder_ / "x"), whole(folder_ / "whole");
  EXPECT_EQ(parts.tokens(), 20);
  EXPECT_EQ(parts.documents(), 5);
  EXPECT_EQ(parts.sequences(), 5);
  for (std::int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(parts.document_begin(i), whole.document_begin(i));
    EXPECT_EQ(parts.document_tokens(i), whole.document_tokens(i));
  }
  for (std::int64_t begin = 0; begin < 20; ++begin) {
    for (std::int64_t count = 0; begin + count <= 20; ++count) {
      std::vector<std::int32_t> ids(static_cast<std::size_t>(count), -1);
      parts.read(begin, ids, 256);
      for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(ids[static_cast<std::size_t>(i)], begin + i);
    }
  }
  const auto stretches = parts.stretches(8, 11);
  ASSERT_EQ(stretches.size(), 3U);
  EXPECT_EQ(stretches[2].bin_path, folder_ / "x-00004-of-00004.bin");
  EXPECT_EQ(stretches[0].first, 8);
  EXPECT_HAS(error_of([&] {
               std::vector<std::int32_t> ids(20);
               parts.read(0, ids, 15);
             }),
             "x-00004-of-00004.bin");
}

TEST_F(TokenParts, AreKnownByWhatIsKnownOfEach) {
  write_parts();
  write("whole", {5, 4, 1, 7, 3}, 0);
  const TokenFile parts(folder_ / "x"), whole(folder_ / "whole");
  EXPECT_EQ(read_data_facts(folder_ / "x.data.json", parts), read_data_facts(folder_ / "whole.data.json", whole));
  EXPECT_NE(parts.fingerprint(), whole.fingerprint());
  std::filesystem::remove(folder_ / "x-00003-of-00004.data.json");
  EXPECT_EQ(read_data_facts(folder_ / "x.data.json", parts), std::nullopt);
}

TEST_F(TokenParts, AreSampledAsTheWholeIs) {
  write_parts();
  write("whole", {5, 4, 1, 7, 3}, 0);
  const SamplerConfig config{.seq_len = 3, .global_batch = 2, .vocab_size = 256, .seed = 1};
  const Sampler parts({{folder_ / "x", 1.0}}, config), whole({{folder_ / "whole", 1.0}}, config);
  for (std::int64_t step = 0; step < 6; ++step) {
    Batch a, b;
    parts.train_batch(step, {.rank = 0, .ranks = 1, .micro_batch = 2}, 0, a);
    whole.train_batch(step, {.rank = 0, .ranks = 1, .micro_batch = 2}, 0, b);
    EXPECT_EQ(a.tokens, b.tokens);
    EXPECT_EQ(a.targets, b.targets);
  }
}

TEST_F(TokenParts, AreRefusedWhereOneIsMissingOrOther) {
  write_parts();
  for (const char* end : {"idx", "bin"}) std::filesystem::remove(folder_ / fmt::format("x-00002-of-00004.{}", end));
  EXPECT_HAS(error_of([&] { TokenFile(folder_ / "x"); }),
             "x-00002-of-00004.idx is missing; 3 of 4 parts are there: octet prepare --part 2/4 makes it");
  write("x-00002-of-00004", {2}, 0, TokenType::i32);
  EXPECT_HAS(error_of([&] { TokenFile(folder_ / "x"); }), "expected parts of one data set");
  write("x-00001-of-00002", {2}, 0);
  EXPECT_HAS(error_of([&] { TokenFile(folder_ / "x"); }), "there are parts of 2 and parts of 4 beside each other");
  EXPECT_HAS(error_of([&] { TokenFile(folder_ / "y"); }), "cannot open " + (folder_ / "y.idx"));
  EXPECT_EQ(TokenFile(folder_ / "x-00004-of-00004").tokens(), 10) << "a part is a pair like any other";
}

}  // namespace
}  // namespace octet
