#include "checkpoints/format/manifest.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "checkpoints/format/hash.h"
#include "tests/checkpoints/directory.h"
#include "tests/checkpoints/virtual_ranks.h"

namespace octet::checkpoint::test {
namespace {

using Json = nlohmann::json;
using ManifestTest = OneProcess;

Manifest small_manifest() {
  Manifest m;
  m.state = some_state();
  m.tensors = {{"master/a.weight", DType::f32, {4, 6}}, {"b", DType::bf16, {5}}};
  m.files = {{"writer-00000.h5", 1234, hash_of("one")}, {"writer-00001.h5", 99, hash_of("two")}};
  const auto piece = [&](std::int32_t tensor, std::int32_t file, const Box& box) {
    m.pieces.push_back({tensor, file, box});
  };
  piece(0, 0, {{0, 0}, {4, 2}});
  piece(0, 1, {{0, 2}, {3, 4}});
  piece(0, 1, {{3, 2}, {1, 4}});
  piece(1, 0, {{0}, {5}});
  return m;
}

/// What parse_manifest says of it; empty when nothing.
std::string refusal_of(const std::string& text) {
  return error_or_none([&] { parse_manifest(text, "dir/manifest.json"); });
}

/// Text whose last line fits, whatever stands before it.
std::string sealed(const std::string& body) {
  return body + "\"xxh3_128\": \"" + hash_of(body) + "\"}\n";
}

std::string sealed(Json json) {
  json.erase("xxh3_128");
  std::string body = json.dump();
  body.back() = ',';
  return sealed(body + "\n");
}

TEST_F(ManifestTest, RoundTripOfEveryField) {
  Manifest m = small_manifest();
  EXPECT_EQ(parse_manifest(to_json(m), "x"), m);
  m.state.config = "quotes \" and \\ and\ttabs\nand \u20ac";
  m.state.seed = std::numeric_limits<std::uint64_t>::max();
  m.state.data_fingerprint = 0;
  m.state.loss = 0.1;
  EXPECT_EQ(parse_manifest(to_json(m), "x"), m);
  m.state.loss = std::nan("");
  EXPECT_TRUE(std::isnan(parse_manifest(to_json(m), "x").state.loss));
}

TEST_F(ManifestTest, SameManifestSameText) {
  EXPECT_EQ(to_json(small_manifest()), to_json(small_manifest()));
}

TEST_F(ManifestTest, ExampleOfTheFormatPage) {
  const std::string page = test::content_of(std::string(OCTET_SOURCE_DIR) + "/docs/checkpoint-format.md");
  const std::string begin = "```json\n";
  const std::size_t at = page.find(begin);
  ASSERT_NE(at, std::string::npos);
  const std::string example = page.substr(at + begin.size(), page.find("```", at + begin.size()) - at - begin.size());
  const Manifest m = parse_manifest(example, "docs/checkpoint-format.md");
  EXPECT_EQ(to_json(m), example);
}

TEST_F(ManifestTest, EveryFlippedBitIsSeen) {
  const std::string good = to_json(small_manifest());
  ASSERT_EQ(refusal_of(good), "");
  for (std::size_t byte = 0; byte < good.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[byte] = static_cast<char>(bad[byte] ^ (1 << bit));
      ASSERT_NE(refusal_of(bad), "") << "byte " << byte << " bit " << bit;
    }
  }
}

TEST_F(ManifestTest, EveryTruncationAndTailIsSeen) {
  const std::string good = to_json(small_manifest());
  for (std::size_t size = 0; size < good.size(); ++size) ASSERT_NE(refusal_of(good.substr(0, size)), "") << size;
  EXPECT_NE(refusal_of(good + "\n"), "");
  EXPECT_NE(refusal_of(good + good), "");
}

struct Wrong {
  const char* pointer;
  Json value;  ///< discarded: the key is removed
  const char* message;
};

TEST_F(ManifestTest, EveryWrongFieldIsRefusedBehindAGoodHash) {
  const Json good = Json::parse(to_json(small_manifest()));
  ASSERT_EQ(refusal_of(sealed(good)), "");
  const Json removed(Json::value_t::discarded);
  const Json huge = Json::parse("9223372036854775808");
  const std::vector<Wrong> table = {
      {"/format", "other", "no \"format\": \"octet-checkpoint\""},
      {"/format", removed, "no \"format\": \"octet-checkpoint\""},
      {"/version", 3, "dir/manifest.json: of version 3, which this program does not know (it reads 1 and 2); a newer "},
      {"/version", removed, "is of version null"},
      {"/version", 0, "is of version 0; this program reads versions 1 and 2"},
      {"/extra", 1, "with the key extra, which this program does not know"},
      {"/state", removed, "state is missing"},
      {"/state", Json::array(), "expected an object"},
      {"/state/step", -1, "state.step is -1"},
      {"/state/step", huge, "expected an integer, at least 0"},
      {"/state/step", "12", "state.step is \"12\""},
      {"/state/step", 1.5, "state.step is 1.5"},
      {"/state/seed", -5, "state.seed is -5"},
      {"/state/data_fingerprint", "x", "state.data_fingerprint"},
      {"/state/loss", "low", "state.loss is \"low\""},
      {"/state/config", 7, "state.config is 7"},
      {"/state/layout", Json(), "state.layout is null"},
      {"/state/program", removed, "state.program is missing"},
      {"/state/more", 1, "with the key state.more, which this program does not know"},
      {"/tensors", 3, "tensors is 3"},
      {"/tensors/0/name", "master//a", "tensors[0].name is \"master//a\""},
      {"/tensors/0/name", "../a", "tensors[0].name is \"../a\""},
      {"/tensors/0/name", "b", "tensor b is there twice"},
      {"/tensors/0/name", 1, "tensors[0].name is 1"},
      {"/tensors/0/dtype", "f16", "tensors[0].dtype is \"f16\"; expected one of f32"},
      {"/tensors/0/shape", Json::array(), "expected 1 to 4 dimensions"},
      {"/tensors/0/shape", Json::array({1, 2, 3, 4, 5}), "expected 1 to 4 dimensions"},
      {"/tensors/0/shape/0", -4, "tensors[0].shape[0] is -4"},
      {"/tensors/0/shape", Json::array({1LL << 40, 1LL << 40}), "expected less than 2^63 bytes"},
      {"/tensors/0/shape/0", 5, "the pieces of tensor master/a.weight have 24 elements"},
      {"/tensors/0/extra", 5, "unknown key"},
      {"/files", "x", "files is \"x\""},
      {"/files/0/name", "../x.h5", "files[0].name is \"../x.h5\""},
      {"/files/0/name", "/etc/passwd", "files[0].name is \"/etc/passwd\""},
      {"/files/0/name", "..", "files[0].name is \"..\""},
      {"/files/0/name", "manifest.json", "files[0].name is \"manifest.json\""},
      {"/files/0/name", "writer-00001.h5", "file writer-00001.h5 is there twice"},
      {"/files/0/bytes", -1, "files[0].bytes is -1"},
      {"/files/0/xxh3_128", "abc", "expected 32 hexadecimal digits"},
      {"/files/0/xxh3_128", std::string(32, 'A'), "expected 32 hexadecimal digits"},
      {"/files/0/xxh3_128", removed, "files[0].xxh3_128 is missing"},
      {"/pieces", Json::object(), "pieces is {}"},
      {"/pieces/0", 1, "pieces[0] is 1"},
      {"/pieces/0", Json::array({0, 0, {0, 0}}), "expected tensor, file, offset and extent"},
      {"/pieces/0/4", "another/name", "expected tensor, file, offset and extent"},
      {"/pieces/0/0", 2, "pieces[0][0] is 2; expected an integer of 0 to 1"},
      {"/pieces/0/0", -1, "pieces[0][0] is -1"},
      {"/pieces/0/1", 2, "pieces[0][1] is 2; expected an integer of 0 to 1"},
      {"/pieces/0/2", Json::array({0}), "pieces[0][2] is [0]; expected a list of 2"},
      {"/pieces/0/2/0", -1, "pieces[0][2][0] is -1"},
      {"/pieces/0/2/0", 1, "[1, 0] + [4, 2] of tensor master/a.weight does not lie"},
      {"/pieces/0/2/1", 1, "is in two pieces"},
      {"/pieces/0/3/0", 3, "have 22 elements"},
      {"/pieces/0/3/1", 0, "does not lie in its shape"},
      {"/pieces/0/3/1", 3, "[0, 2] + [3, 1] of tensor master/a.weight is in two pieces"},
      {"/pieces/0/3/0", Json::parse("9223372036854775807"), "does not lie in its shape"},
      {"/pieces/3", removed, "the pieces of tensor b have 0 elements"},
  };
  for (const Wrong& wrong : table) {
    Json bad = good;
    const Json::json_pointer at(wrong.pointer);
    if (!wrong.value.is_discarded()) {
      bad[at] = wrong.value;
    } else if (Json& parent = bad[at.parent_pointer()]; parent.is_object()) {
      parent.erase(at.back());
    } else {
      parent.erase(static_cast<std::size_t>(std::stoi(at.back())));
    }
    const std::string found = refusal_of(sealed(bad));
    EXPECT_NE(found.find(wrong.message), std::string::npos) << wrong.pointer << " gave: " << found;
    EXPECT_NE(found.find("dir/manifest.json"), std::string::npos) << found;
  }
}

TEST_F(ManifestTest, WhatIsNoJsonIsRefusedBehindAGoodHash) {
  const auto expect = [](const std::string& body, const char* part) {
    const std::string found = refusal_of(sealed(body));
    EXPECT_NE(found.find(part), std::string::npos) << found;
    EXPECT_NE(found.find("dir/manifest.json"), std::string::npos) << found;
  };
  expect("{\"format\": nonsense,\n", "no valid JSON; expected the manifest of a checkpoint");
  expect("", "no valid JSON; expected the manifest of a checkpoint");
  expect("{\"format\": \"octet-checkpoint\", \"format\": \"octet-checkpoint\",\n", "stands twice");
}

TEST_F(ManifestTest, WhatIsNestedWithoutBoundsIsRefusedBehindAGoodHash) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  for (const char* key : {"format", "version", "state", "tensors", "files", "pieces", "extra"}) {
    std::string body = "{";
    for (const char* other : {"format", "version", "state", "tensors", "files", "pieces"}) {
      const std::string value = other == std::string("format") ? "\"octet-checkpoint\"" : "1";
      if (other != std::string(key)) body += fmt::format("\"{}\": {}, ", other, value);
    }
    body += fmt::format("\"{}\": {},\n", key, deep);
    EXPECT_EQ(refusal_of(sealed(body)), "[checkpoints] dir/manifest.json: nested deeper than 32; expected less") << key;
  }
}

TEST_F(ManifestTest, LongValuesAreCutInMessages) {
  const Json good = Json::parse(to_json(small_manifest()));
  const std::string big(100'000, 'x');
  for (const char* key : {"/version", "/state", "/tensors/0/name", "/files/0/name"}) {
    Json bad = good;
    bad[Json::json_pointer(key)] = big;
    EXPECT_LT(refusal_of(sealed(bad)).size(), 500u) << key;
  }
  Json bad = good;
  bad[big] = 1;
  EXPECT_LT(refusal_of(sealed(bad)).size(), 500u);
}

TEST_F(ManifestTest, MissingFileIsNamed) {
  try {
    read_manifest("/nowhere");
    FAIL() << "read a manifest of /nowhere";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("/nowhere/manifest.json"), std::string::npos);
  }
}

TEST_F(ManifestTest, APipeIsNone) {
  const TemporaryDirectory directory;
  const std::string path = directory / manifest_name;
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);  // to open it waits for who writes to it
  try {
    read_manifest(directory.path());
    FAIL() << "read a manifest of a pipe";
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()), "[files] cannot read " + path + ": it is no regular file");
    EXPECT_EQ(e.code(), ExitCode::usage);
  }
}

TEST_F(ManifestTest, TextThatIsNotUtf8IsAnError) {
  Manifest m = small_manifest();
  m.state.config = "\xff\xfe";
  EXPECT_THROW(to_json(m), Error);
}

TEST_F(ManifestTest, CoverageFindsEverySinglePieceThatIsMissingMovedOrTwice) {
  Manifest grid;  // 3 x 4 x 2 pieces of a tensor of three dimensions
  grid.tensors = {{"t", DType::f32, {9, 8, 6}}};
  grid.files = {{"f", 0, ""}};
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 4; ++j) {
      for (std::int64_t k = 0; k < 2; ++k) grid.pieces.push_back({0, 0, {{3 * i, 2 * j, 3 * k}, {3, 2, 3}}});
    }
  }
  EXPECT_NO_THROW(check_coverage(grid, "x"));
  for (std::size_t p = 0; p < grid.pieces.size(); ++p) {
    Manifest missing = grid, twice = grid, replaced = grid;
    missing.pieces.erase(missing.pieces.begin() + static_cast<std::ptrdiff_t>(p));
    EXPECT_THROW(check_coverage(missing, "x"), Error) << p;
    twice.pieces.push_back(grid.pieces[p]);
    EXPECT_THROW(check_coverage(twice, "x"), Error) << p;
    replaced.pieces[p].box = grid.pieces[(p + 1) % grid.pieces.size()].box;  // the same number of elements
    EXPECT_THROW(check_coverage(replaced, "x"), Error) << p;
    for (std::size_t d = 0; d < 3; ++d) {
      for (const std::int64_t by : {-1, 1}) {
        Manifest moved = grid;
        moved.pieces[p].box.offset[d] += by;
        EXPECT_THROW(check_coverage(moved, "x"), Error) << p;
      }
    }
  }
}

TEST_F(ManifestTest, HashIsXxh3OfOneHundredTwentyEightBits) {
  // xxhsum -H2 of nothing and of "abc"
  EXPECT_EQ(hash_of(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_of("abc"), "06b05ab6733a618578af5f94892f3950");
  Hasher hasher;
  hasher.add("a", 1);
  hasher.add("bc", 2);
  EXPECT_EQ(hasher.hex(), hash_of("abc"));
}

}  // namespace
}  // namespace octet::checkpoint::test
