// Texts of a SentencePiece model: what stands before contexts, and what is told of generated tokens, whose blanks and
// bytes are pieces of their own.
#include <gtest/gtest.h>

#include "src/corpus/utf8.h"
#include "src/evaluate/tasks/encode_item.h"
#include "src/evaluate/text_stream.h"
#include "src/tokenizer/make_tokenizer.h"
#include "tests/data/support.h"

namespace octet {
namespace {

const std::string model_file = OCTET_SOURCE_DIR "/tests/tokenizer/golden/spm-bpe.model";

std::vector<std::int32_t> ids_of(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<std::int32_t> ids;
  tokenizer.make_encoder()->encode(text, ids);
  return ids;
}

/// What a stream tells of the tokens behind the first `known`, piece by piece.
std::vector<std::string> told(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids, std::size_t known) {
  TextStream stream(tokenizer, ids.at(known - 1));
  std::vector<std::string> pieces;
  for (std::size_t i = known; i < ids.size(); ++i) pieces.push_back(stream.add(ids[i]));
  pieces.push_back(stream.finish());
  return pieces;
}

TEST(SentencePieceStream, TellsTheTextBehindAnyTokenInWholeCharacters) {
  const auto tokenizer = make_tokenizer(model_file);
  const std::string text = "The water  was \xF0\x9D\x84\x9E, 1984 \xE9\xBE\x98 and \xD0\xBC\xD0\xB8\xD1\x80.\n";
  const auto ids = ids_of(*tokenizer, text);
  EXPECT_EQ(tokenizer->decode(ids), text);
  for (std::size_t known = 1; known < ids.size(); ++known) {
    const std::string before = tokenizer->decode(std::span(ids).first(known));
    if (!text.starts_with(before)) continue;  // it ends within a character, which is shown by another one
    std::string all;
    for (const std::string& piece : told(*tokenizer, ids, known)) {
      EXPECT_FALSE(find_bad_utf8(piece)) << piece;
      EXPECT_EQ(piece.find("\xEF\xBF\xBD"), std::string::npos) << "a part of a character in " << piece;
      all += piece;
    }
    EXPECT_EQ(before + all, text) << known;
  }
}

TEST(SentencePieceStream, WaitsForTheBytesOfACharacter) {
  const auto tokenizer = make_tokenizer(model_file);
  const auto ids = ids_of(*tokenizer, "a\xF0\x9D\x84\x9E");
  ASSERT_GE(ids.size(), 5u) << "not in bytes";
  const auto pieces = told(*tokenizer, ids, ids.size() - 4);
  EXPECT_EQ(pieces, (std::vector<std::string>{"", "", "", "\xF0\x9D\x84\x9E", ""}));
  auto torn = ids;
  torn.pop_back();
  EXPECT_EQ(told(*tokenizer, torn, torn.size() - 3).back().find("\xEF\xBF\xBD"), 0u);
}

TEST(SentencePieceItems, HaveBosWhereTheFolderSaysSo) {
  const test::TempFolder folder;
  test::write_bytes(folder / "tokenizer.model", test::read_bytes(model_file));
  for (const bool adds : {true, false}) {
    test::write_bytes(folder / "tokenizer_config.json", adds ? "{}" : R"({"add_bos_token": false})");
    const auto tokenizer = make_tokenizer(folder.path());
    ItemEncoder encoder(*tokenizer);
    EXPECT_EQ(encoder.adds_bos(), adds);
    std::vector<std::int32_t> expected = ids_of(*tokenizer, "The water was");
    if (adds) expected.insert(expected.begin(), 1);
    EXPECT_EQ(encoder.encode("The water was", " cold").context, expected);
    EXPECT_EQ(encoder.encode("", "cold").context, std::vector<std::int32_t>{1});
  }
}

}  // namespace
}  // namespace octet
