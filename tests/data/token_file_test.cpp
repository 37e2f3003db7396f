#include "src/data/token_file.h"

#include <sys/wait.h>

#include <functional>
#include <numeric>

#include "src/data/token_writer.h"
#include "tests/data/support.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::read_bytes;
using test::TempFolder;
using test::write_bytes;

using Documents = std::vector<std::vector<std::int32_t>>;

const std::string golden = std::string(OCTET_SOURCE_DIR) + "/tests/data/golden/";

Documents byte_documents() {
  Documents documents;
  for (const std::string text : {"To be,", "or not", "to be: that is the question"}) {
    documents.emplace_back(text.begin(), text.end());
    documents.back().push_back(0);
  }
  return documents;
}

struct GoldenCase {
  std::string name;
  TokenType type;
  Documents documents;
  std::int64_t max_sequence_tokens;
};

std::vector<GoldenCase> golden_cases() {
  return {{"bytes", TokenType::u8, byte_documents(), 1 << 30},
          {"words", TokenType::u16, {{1, 300, 65535}, {0}, {40000, 2}}, 1 << 30},
          {"wide", TokenType::i32, {{100000, 100001, 100002, 100003, 100004, 100005, 100006}, {2147483647, 5}}, 3}};
}

void write_documents(TokenFileWriter& writer, const Documents& documents) {
  for (const auto& document : documents) {
    writer.append(document);
    writer.end_document();
  }
}

TEST(TokenFileWriter, WritesTheGoldenFilesByteForByte) {
  const TempFolder folder;
  for (const GoldenCase& c : golden_cases()) {
    TokenFileWriter writer(folder / c.name, c.type, {.overwrite = false, .max_sequence_tokens = c.max_sequence_tokens});
    write_documents(writer, c.documents);
    writer.finish();
    EXPECT_EQ(read_bytes(folder / (c.name + ".bin")), read_bytes(golden + c.name + ".bin")) << c.name;
    EXPECT_EQ(read_bytes(folder / (c.name + ".idx")), read_bytes(golden + c.name + ".idx")) << c.name;
  }
}

TEST(TokenFile, ReadsTheGoldenFiles) {
  for (const GoldenCase& c : golden_cases()) {
    for (const char* suffix : {"", ".bin", ".idx"}) {
      const TokenFile file(golden + c.name + suffix);
      EXPECT_EQ(file.type(), c.type);
      ASSERT_EQ(file.documents(), static_cast<std::int64_t>(c.documents.size()));
      std::vector<std::int32_t> all;
      for (std::int64_t d = 0; d < file.documents(); ++d) {
        EXPECT_EQ(file.document_begin(d), static_cast<std::int64_t>(all.size()));
        const auto& document = c.documents[static_cast<std::size_t>(d)];
        EXPECT_EQ(file.document_tokens(d), static_cast<std::int64_t>(document.size()));
        all.insert(all.end(), document.begin(), document.end());
      }
      ASSERT_EQ(file.tokens(), static_cast<std::int64_t>(all.size()));
      std::vector<std::int32_t> read(all.size());
      file.read(0, read, std::int64_t{1} << 31);
      EXPECT_EQ(read, all) << c.name;
      std::vector<std::int32_t> middle(3);  // across a document's border
      file.read(2, middle, std::int64_t{1} << 31);
      EXPECT_EQ(middle, std::vector<std::int32_t>(all.begin() + 2, all.begin() + 5)) << c.name;
    }
  }
}

TEST(TokenFile, KeepsTokensAcrossBufferBorders) {
  const TempFolder folder;
  for (const TokenType type : {TokenType::u8, TokenType::u16, TokenType::i32}) {
    constexpr std::int32_t count = 1'300'001;  // more than the writer's buffer, odd
    std::vector<std::int32_t> ids(count);
    for (std::int32_t i = 0; i < count; ++i) ids[static_cast<std::size_t>(i)] = (i * 31 + i / 253) % 256;
    const std::string prefix = folder / std::string(name_of(type));
    TokenFileWriter writer(prefix, type);
    for (std::size_t begin = 0; begin < ids.size(); begin += 77'777) {
      writer.append(std::span(ids).subspan(begin, std::min<std::size_t>(77'777, ids.size() - begin)));
    }
    writer.end_document();
    writer.finish();
    const TokenFile file(prefix);
    ASSERT_EQ(file.tokens(), count);
    std::vector<std::int32_t> read(ids.size());
    file.read(0, read, 256);
    EXPECT_EQ(read, ids);
  }
}

TEST(TokenFile, AnEmptyDocumentAndNoDocumentAreFiles) {
  const TempFolder folder;
  TokenFileWriter writer(folder / "x", TokenType::u8);
  writer.finish();
  const TokenFile none(folder / "x");
  EXPECT_EQ(none.documents(), 0);
  EXPECT_EQ(none.tokens(), 0);
  TokenFileWriter second(folder / "y", TokenType::u8);
  second.end_document();
  second.finish();
  EXPECT_EQ(TokenFile(folder / "y").documents(), 1);
}

TEST(TokenFile, RefusesIdsThatTheVocabularyDoesNotHave) {
  const TempFolder folder;
  test::write_tokens(folder / "x", 100, TokenType::u16, [](std::int64_t i) { return i == 42 ? 301 : i; });
  const TokenFile file(folder / "x");
  std::vector<std::int32_t> out(50);
  const std::string message = error_of([&] { file.read(10, out, 256); });
  EXPECT_HAS(message, "token id 301 at position 42 is not below vocab_size 256");
  EXPECT_HAS(message, "x.bin");
  file.read(43, out, 256);
  file.read(10, out, 302);
  EXPECT_EQ(out[32], 301);

  std::string bin = read_bytes(golden + "wide.bin");
  bin[7] = '\xff';  // id 1 becomes negative
  write_bytes(folder / "wide.bin", bin);
  fs::copy_file(golden + "wide.idx", folder / "wide.idx");
  EXPECT_HAS(error_of([&] { TokenFile(folder / "wide").read(0, std::span(out).first(9), std::int64_t{1} << 31); }),
             "at position 1 is not below");
  EXPECT_HAS(error_of([&] { file.read(90, std::span(out).first(11), 256); }, ExitCode::internal), "[90, 101) of 100");
  EXPECT_HAS(error_of([&] { file.read(-1, std::span(out).first(1), 256); }, ExitCode::internal), "of 100");
}

TEST(TokenFileWriter, RefusesIdsThatTheTypeCannotHold) {
  const TempFolder folder;
  TokenFileWriter writer(folder / "x", TokenType::u8);
  EXPECT_HAS(error_of([&] { writer.append(std::vector<std::int32_t>{256}); }, ExitCode::internal), "256");
  TokenFileWriter words(folder / "y", TokenType::u16);
  EXPECT_HAS(error_of([&] { words.append(std::vector<std::int32_t>{-1}); }, ExitCode::internal), "-1");
}

// ---- corrupt files

template <typename T>
void put(std::string& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

struct Corruption {
  std::string what;
  std::function<void(std::string& idx, std::string& bin)> damage;
  std::string expected;
};

// bytes.idx: 3 sequences of 7, 7 and 28 tokens; sizes at 34, offsets at 46, document starts at 70.
std::vector<Corruption> corruptions() {
  return {
      {"empty idx", [](auto& idx, auto&) { idx.clear(); }, "0 bytes is too short"},
      {"header cut", [](auto& idx, auto&) { idx.resize(33); }, "33 bytes is too short for the header of 34"},
      {"magic", [](auto& idx, auto&) { idx[0] = 'X'; }, "not a Megatron index file"},
      {"version", [](auto& idx, auto&) { put(idx, 9, std::uint64_t{2}); }, "index version 2; expected 1"},
      {"dtype float64", [](auto& idx, auto&) { idx[17] = 6; }, "dtype code 6 is not supported"},
      {"dtype 0", [](auto& idx, auto&) { idx[17] = 0; }, "dtype code 0 is not supported"},
      {"dtype wider", [](auto& idx, auto&) { idx[17] = 8; },
       "sequence 1 begins at byte 7 of the .bin file; expected 14"},
      {"idx cut", [](auto& idx, auto&) { idx.resize(idx.size() - 1); }, "101 bytes do not fit its 3 sequences and 4"},
      {"idx longer", [](auto& idx, auto&) { idx += "abc"; }, "105 bytes do not fit"},
      {"more sequences", [](auto& idx, auto&) { put(idx, 18, std::uint64_t{4}); }, "do not fit its 4 sequences"},
      {"huge count", [](auto& idx, auto&) { put(idx, 18, std::uint64_t{1} << 63); }, "9223372036854775808 sequences"},
      {"overflowing counts",
       [](auto& idx, auto&) {
         put(idx, 18, (std::uint64_t{1} << 62) + 3);  // times 12 wraps around to the true length
         put(idx, 26, std::uint64_t{4});
       },
       "do not fit"},
      {"no documents",
       [](auto& idx, auto&) {
         put(idx, 26, std::uint64_t{0});
         idx.resize(70);
       },
       "0 document boundaries"},
      {"negative size", [](auto& idx, auto&) { put(idx, 34, std::int32_t{-7}); }, "sequence 0 has -7 tokens"},
      {"size", [](auto& idx, auto&) { put(idx, 38, std::int32_t{8}); }, "sequence 2 begins at byte 14"},
      {"last size", [](auto& idx, auto&) { put(idx, 42, std::int32_t{29}); }, "has 42 bytes; expected at least 43"},
      {"offsets fall", [](auto& idx, auto&) { put(idx, 62, std::int64_t{3}); }, "sequence 2 begins at byte 3"},
      {"negative offset", [](auto& idx, auto&) { put(idx, 46, std::int64_t{-1}); }, "sequence 0 begins at byte -1"},
      {"first document", [](auto& idx, auto&) { put(idx, 70, std::int64_t{1}); }, "begins at sequence 1; expected 0"},
      {"documents fall", [](auto& idx, auto&) { put(idx, 78, std::int64_t{3}); },
       "document 1 ends at sequence 2, before"},
      {"last document", [](auto& idx, auto&) { put(idx, 94, std::int64_t{2}); }, "ends at sequence 2; expected 3"},
      {"bin cut", [](auto&, auto& bin) { bin.resize(41); }, "x.bin has 41 bytes; expected at least 42"},
      {"bin longer", [](auto&, auto& bin) { bin += "y"; }, "x.bin has 43 bytes; expected 42"},
      {"bin empty", [](auto&, auto& bin) { bin.clear(); }, "x.bin has 0 bytes"},
  };
}

TEST(TokenFile, RefusesDamagedFilesWithTheirNumbers) {
  for (const Corruption& c : corruptions()) {
    SCOPED_TRACE(c.what);
    const TempFolder folder;
    std::string idx = read_bytes(golden + "bytes.idx"), bin = read_bytes(golden + "bytes.bin");
    c.damage(idx, bin);
    write_bytes(folder / "x.idx", idx);
    write_bytes(folder / "x.bin", bin);
    const std::string message = error_of([&] { TokenFile file(folder / "x"); });
    EXPECT_HAS(message, c.expected);
    EXPECT_HAS(message, folder / "x.");
  }
}

TEST(TokenFile, RefusesMissingFiles) {
  const TempFolder folder;
  EXPECT_HAS(error_of([&] { TokenFile file(folder / "x"); }), "cannot open " + (folder / "x.idx"));
  fs::copy_file(golden + "bytes.idx", folder / "x.idx");
  EXPECT_HAS(error_of([&] { TokenFile file(folder / "x"); }), "cannot open " + (folder / "x.bin"));
  fs::create_directory(folder / "x.bin");
  EXPECT_HAS(error_of([&] { TokenFile file(folder / "x"); }), "not a regular file");
}

// ---- commit

TEST(TokenFileWriter, LeavesNothingWhenItIsNotFinished) {
  const TempFolder folder;
  {
    TokenFileWriter writer(folder / "x", TokenType::u8);
    write_documents(writer, byte_documents());
    EXPECT_TRUE(fs::exists(folder / "x.bin.tmp"));
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(TokenFileWriter, AKilledWriterLeavesOnlyTemporaryFilesThatTheNextOneReplaces) {
  const TempFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    TokenFileWriter writer(folder / "x", TokenType::u8);
    writer.append(std::vector<std::int32_t>(3'000'000, 65));
    _exit(0);  // no destructor runs, as after SIGKILL
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(fs::exists(folder / "x.bin.tmp"));
  EXPECT_FALSE(fs::exists(folder / "x.bin"));
  EXPECT_FALSE(fs::exists(folder / "x.idx"));
  TokenFileWriter writer(folder / "x", TokenType::u8);
  write_documents(writer, byte_documents());
  writer.finish();
  EXPECT_EQ(read_bytes(folder / "x.bin"), read_bytes(golden + "bytes.bin"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 3);  // .bin, .idx, .data.json
}

TEST(TokenFileWriter, RefusesExistingOutputUnlessToldToReplaceIt) {
  const TempFolder folder;
  write_bytes(folder / "x.idx", "old");
  EXPECT_HAS(error_of([&] { TokenFileWriter writer(folder / "x", TokenType::u8); }), "x.idx exists; --overwrite");
  EXPECT_EQ(read_bytes(folder / "x.idx"), "old");
  TokenFileWriter writer(folder / "x", TokenType::u8, {.overwrite = true});
  write_documents(writer, byte_documents());
  EXPECT_EQ(read_bytes(folder / "x.idx"), "old");  // until the new pair is whole
  writer.finish();
  EXPECT_EQ(read_bytes(folder / "x.idx"), read_bytes(golden + "bytes.idx"));
}

TEST(TokenFileWriter, RefusesASecondWriterWithoutHarmToTheFirst) {
  const TempFolder folder;
  TokenFileWriter first(folder / "x", TokenType::u8);
  write_documents(first, byte_documents());
  EXPECT_HAS(error_of([&] { TokenFileWriter second(folder / "x", TokenType::u8); }), "written by another process");
  first.finish();
  EXPECT_EQ(read_bytes(folder / "x.bin"), read_bytes(golden + "bytes.bin"));
}

TEST(TokenFileWriter, RefusesOutputsThatCannotBe) {
  const TempFolder folder;
  write_bytes(folder / "file", "x");
  fs::create_directory(folder / "y.bin.tmp");
  const auto open = [&](const std::string& prefix) {
    return error_of([&] { TokenFileWriter writer(prefix, TokenType::u8); });
  };
  EXPECT_HAS(open(folder / "file/x"), "file: cannot be made: ");
  EXPECT_HAS(open(folder / "y"), (folder / "y.bin.tmp") + ": cannot be written");
  EXPECT_HAS(open(folder.path() + "/"), "not a file name");
  EXPECT_HAS(open(folder / "x.bin"), "expected PREFIX");
  EXPECT_HAS(open(""), "not a file name");
  TokenFileWriter writer(folder / "z", TokenType::u8);
  writer.append(std::vector<std::int32_t>{1});
  EXPECT_HAS(error_of([&] { writer.finish(); }, ExitCode::internal), "inside a document");
}

// ---- fingerprint

TEST(TokenFile, FingerprintSeesTokensBordersAndLength) {
  const TempFolder folder;
  constexpr std::int64_t tokens = 5'000'000;  // above 4 MiB only samples are hashed
  const auto make = [&](const std::string& name, std::int64_t count, std::int64_t changed) {
    test::write_tokens(folder / name, count, TokenType::u8, [&](std::int64_t i) { return i == changed ? 7 : i % 5; });
    return TokenFile(folder / name).fingerprint();
  };
  const auto base = make("a", tokens, -1);
  EXPECT_EQ(TokenFile(folder / "a").fingerprint(), base);
  EXPECT_EQ(make("same", tokens, -1), base);
  EXPECT_NE(make("first", tokens, 0), base);
  EXPECT_NE(make("last", tokens, tokens - 1), base);
  EXPECT_NE(make("longer", tokens + 1, -1), base);
  EXPECT_NE(make("small", 1000, -1), make("small changed", 1000, 500));
}

}  // namespace
}  // namespace octet
