// What a manifest says of its checkpoint as a whole is read without its pieces, of which there can be millions.
#include <gtest/gtest.h>

#include "checkpoints/format/hash.h"
#include "checkpoints/format/manifest.h"
#include "checkpoints/format/unknown_format.h"
#include "tests/checkpoints/virtual_ranks.h"

namespace octet::checkpoint::test {
namespace {

using ManifestSummaryTest = OneProcess;

constexpr const char* path = "dir/manifest.json";

Manifest two_pieces() {
  Manifest m;
  m.state = some_state();
  m.state.config = "a: 1\n\"pieces\": [\n],\n";  // looks like the list, and is none
  m.tensors = {{"a", DType::f32, {4, 6}}};
  m.files = {{"writer-00000.h5", 1234, hash_of("one")}, {"writer-00001.h5", 99, hash_of("two")}};
  m.pieces = {{0, 0, {{0, 0}, {4, 2}}}, {0, 1, {{0, 2}, {4, 4}}}};
  return m;
}

/// With its last line made anew.
std::string sealed(const std::string& text) {
  const std::string body = text.substr(0, text.rfind("\"xxh3_128\""));
  return body + manifest_last_line(hash_of(body));
}

std::string replaced(std::string text, const std::string& part, const std::string& by) {
  text.replace(text.rfind(part), part.size(), by);
  return sealed(text);
}

void expect_summary(const std::string& text) {
  const Manifest whole = two_pieces();
  const ManifestSummary summary = parse_summary(text, path);
  EXPECT_EQ(summary.state, whole.state);
  EXPECT_EQ(summary.files, whole.files);
}

TEST_F(ManifestSummaryTest, SaysWhatTheManifestSays) {
  expect_summary(to_json(two_pieces()));
  Manifest none = two_pieces();
  none.pieces.clear();
  none.tensors.clear();
  expect_summary(to_json(none));
}

TEST_F(ManifestSummaryTest, LooksAtNoPiece) {
  const std::string no_json = replaced(to_json(two_pieces()), "[0,1,[0,2],[4,4]]", "[0,1,[0,2],[4,4");
  EXPECT_THROW(parse_manifest(no_json, path), Error);
  expect_summary(no_json);
}

TEST_F(ManifestSummaryTest, OfAnotherLayoutOfTheText) {
  const std::string text = to_json(two_pieces());
  expect_summary(replaced(text, "\"pieces\": [\n", "\"pieces\":\n["));
  expect_summary(replaced(text, "\n],\n", "\n]\n,"));
}

TEST_F(ManifestSummaryTest, EveryFlippedBitIsSeen) {
  const std::string good = to_json(two_pieces());
  for (std::size_t byte = 0; byte < good.size(); ++byte) {
    std::string bad = good;
    bad[byte] = static_cast<char>(bad[byte] ^ (1 << byte % 8));
    ASSERT_THROW(parse_summary(bad, path), Error) << "byte " << byte;
    ASSERT_THROW(parse_summary(good.substr(0, byte), path), Error) << "byte " << byte;
  }
}

TEST_F(ManifestSummaryTest, AKeyOfANewerProgramIsSeenWhereverItStands) {
  const std::string text = to_json(two_pieces());
  EXPECT_THROW(parse_summary(replaced(text, "\"files\"", "\"more\": 1,\n\"files\""), path), UnknownFormat);
  EXPECT_THROW(parse_summary(replaced(text, "\n],\n", "\n],\n\"more\": [\n1\n],\n"), path), UnknownFormat);
}

}  // namespace
}  // namespace octet::checkpoint::test
