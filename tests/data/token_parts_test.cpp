// The parts that `octet prepare --part` writes, as one data source.
#include "src/base/error.h"
#include "src/base/read_file.h"
#include "src/data/data_facts.h"
#include "src/data/sampler.h"
#include "tests/data/support.h"
#include "tests/support/bytes_identity.h"
#include "tests/support/no_files.h"
#include "tests/support/unlisted_folder.h"

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
    options.overwrite = true;
    options.tokenizer = tokenizer_;
    options.origin = origin_;
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
  std::string side_file(int part) const { return folder_ / fmt::format("x-{:05}-of-00004.data.json", part); }
  std::optional<DataFacts> facts() { return read_data_facts(folder_ / "x.data.json", TokenFile(folder_ / "x")); }

  TempFolder folder_;
  TokenizerIdentity tokenizer_ = test::bytes_tokenizer_identity();
  std::optional<DataOrigin> origin_{};
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
  for (int part = 1; part <= 4; ++part) std::filesystem::remove(side_file(part));
  EXPECT_EQ(facts(), std::nullopt);
}

TEST_F(TokenParts, OfWhichOneSaysNothingAreKnownByTheOthers) {
  write_parts();
  std::filesystem::remove(side_file(3));
  testing::internal::CaptureStderr();
  const auto known = facts();
  const std::string logged = testing::internal::GetCapturedStderr();
  EXPECT_HAS(logged, side_file(3) + ": is missing beside " + (folder_ / "x-00003-of-00004.bin"));
  EXPECT_HAS(logged, "octet inspect " + (folder_ / "x-00003-of-00004") + " --remember");
  ASSERT_TRUE(known);
  EXPECT_EQ(known->unknown, (std::vector<TokenInterval>{{9, 10}}));
  EXPECT_EQ(known->range.largest, (TokenAt{19, 19}));
  EXPECT_EQ(known->tokenizer, tokenizer_);
  EXPECT_EQ(known->text_bytes, 20) << "19 bytes are known, of 19 tokens of 20";
  EXPECT_FALSE(known->content);
  // Once its range is remembered all is known, though not the tokenizer of that part.
  const TokenFile third(folder_ / "x-00003-of-00004");
  ASSERT_TRUE(write_data_facts(side_file(3), third, {.range = {.smallest = {9, 0}, .largest = {9, 0}}}));
  EXPECT_TRUE(facts()->unknown.empty());
  EXPECT_EQ(facts()->tokenizer, tokenizer_);
}

TEST_F(TokenParts, OfOtherOptionsOrAnotherInputAreRefused) {
  origin_ = {.making = {{"--input", "4 files"}, {"--holdout", "0"}}, .command = 1, .eos = true};
  write_parts();
  EXPECT_EQ(facts()->origin, origin_);
  origin_->command = 2;  // as every part has its own
  write("x-00004-of-00004", {7, 3}, 10);
  EXPECT_NO_THROW(facts());
  origin_->making["--input"] = "3 files";
  origin_->making["--holdout"] = "0.5";
  write("x-00002-of-00004", {}, 9);  // without a token, too
  EXPECT_HAS(error_of([&] { facts(); }),
             (folder_ / "x-00001-of-00004") + " and " + (folder_ / "x-00002-of-00004") +
                 " are parts of one data set, but were not made alike: --holdout was 0 and 0.5; --input was 4 files "
                 "and 3 files");
  origin_.reset();  // an older version did not say it
  write("x-00002-of-00004", {}, 9);
  EXPECT_NO_THROW(facts());
}

TEST_F(TokenParts, OfTwoTokenizersAreRefusedWhateverWasRememberedOfTheWhole) {
  write_parts();
  const TokenFile parts(folder_ / "x");
  const DataFacts remembered{.range = {.smallest = {0, 0}, .largest = {19, 19}}};
  std::filesystem::remove(side_file(3));
  ASSERT_TRUE(write_data_facts(folder_ / "x.data.json", parts, remembered));
  EXPECT_TRUE(facts()->unknown.empty()) << "the whole's range is known";
  EXPECT_EQ(facts()->tokenizer, tokenizer_);
  tokenizer_.eos = 7;
  tokenizer_.special = {{"</s>", 7}};
  write("x-00004-of-00004", {7, 3}, 10);  // the same tokens
  for (int i = 0; i < 2; ++i) {
    EXPECT_HAS(error_of([&] { facts(); }),
               "are parts of one data set, but of two tokenizers: what ends a document was "
               "the token of id 0 and </s> (id 7)");
    test::write_bytes(folder_ / "x.data.json", "{}");  // and that of other data
  }
}

TEST_F(TokenParts, AreRefusedBesideAPair) {
  write_parts();
  write("x", {2}, 0);
  const std::string message =
      ": there are " + (folder_ / "x.idx") + " and " + (folder_ / "x-00001-of-00004.idx") + " beside each other";
  EXPECT_HAS(error_of([&] { TokenFile(folder_ / "x"); }), message);
  EXPECT_HAS(error_of([&] { TokenFile(folder_ / "x.bin"); }), message);
  std::filesystem::remove(folder_ / "x.idx");
  EXPECT_HAS(error_of([&] { TokenFile(folder_ / "x"); }), "there are " + (folder_ / "x.bin") + " and ");
  EXPECT_EQ(TokenFile(folder_ / "x-00001-of-00004").tokens(), 9);
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

TEST_F(TokenParts, AreNotMissingWhereTheFileSystemDoesNotSay) {
  write_parts();
  {
    const test::NoFiles cannot_list;
    EXPECT_THROW(token_prefixes(folder_ / "x"), files::ReadError);
  }
  EXPECT_EQ(token_prefixes(folder_ / "x").size(), 4U);
  const test::UnlistedFolder cut_off;
  EXPECT_THROW(token_prefixes(cut_off.path() + "/x"), files::ReadError);
  EXPECT_EQ(token_prefixes(folder_ / "none/x").size(), 1U);
  std::filesystem::create_symlink("x.idx", folder_ / "x.idx");  // a mistake of the path
  EXPECT_HAS(error_of([&] { token_prefixes(folder_ / "x"); }), "cannot open " + (folder_ / "x.idx") + ": Too many");
}

}  // namespace
}  // namespace octet
