#include "checkpoints/hugging_face/safetensors.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/checkpoints/directory.h"
#include "tests/checkpoints/small_checkpoint.h"
#include "tests/support/expect_has.h"
#include "tests/support/git_lfs_pointer.h"

namespace octet::checkpoint {
namespace {

using test::error_of;
using test::error_or_none;

/// What Python's safetensors 0.8 writes for b = [1, -2.5] in bf16, a = [[1.5, 2.5, -0.0]] in fp32 and h = [0.5] in
/// fp16.
const std::string python_json =
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[1,3],"data_offsets":[0,12]},)"
    R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[12,16]},"h":{"dtype":"F16","shape":[1],"data_offsets":[16,18]}} )";
const std::string python_file =
    std::string("\xc8\0\0\0\0\0\0\0", 8) + python_json + std::string("\0\0\xc0?\0\0 @\0\0\0\x80\x80? \xc0\0\x38", 18);

std::vector<SafetensorsEntry> python_tensors() {
  return {{.name = "a", .dtype = "F32", .shape = {1, 3}},
          {.name = "b", .dtype = "BF16", .shape = {2}},
          {.name = "h", .dtype = "F16", .shape = {1}}};
}

/// A value of so many lists within each other.
std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

class Safetensors : public testing::Test {
 protected:
  std::string file_with(const std::string& content) {
    test::put_file(root_ / "x.safetensors", content);
    return root_ / "x.safetensors";
  }
  test::TemporaryDirectory root_;
};

TEST_F(Safetensors, ReadsWhatTheReferenceImplementationWrites) {
  const SafetensorsReader file(file_with(python_file));
  EXPECT_EQ(file.header(), lay_out_safetensors(python_tensors(), {{"format", "pt"}}));
  float a[3] = {};
  file.read(*file.header().find("a"), 0, 12, a);
  EXPECT_EQ(a[0], 1.5f);
  EXPECT_EQ(a[1], 2.5f);
  EXPECT_TRUE(a[2] == 0 && std::signbit(a[2]));
  std::uint16_t b = 0;
  file.read(*file.header().find("b"), 2, 2, &b);
  EXPECT_EQ(static_cast<float>(bf16::from_bits(b)), -2.5f);
  EXPECT_EQ(file.header().find("c"), nullptr);
}

TEST_F(Safetensors, APointerOfGitLfsIsRefused) {
  EXPECT_HAS(error_of([&] { const SafetensorsReader file(file_with(octet::test::lfs_pointer)); }),
             "x.safetensors: is a pointer of Git LFS, which stands for a file that was not fetched");
}

TEST_F(Safetensors, WritesTheSameBytes) {
  const std::string path = root_ / "y.safetensors";
  SafetensorsWriter file(path, lay_out_safetensors(python_tensors(), {{"format", "pt"}}));
  const std::string data = python_file.substr(python_file.size() - 18);
  file.append(data.data(), 5);
  EXPECT_HAS(error_of([&] { file.finish(); }, ExitCode::internal), "13 bytes are missing");
  EXPECT_HAS(error_of([&] { file.append(data.data(), 14); }, ExitCode::internal), "1 bytes too many");
  file.append(data.data() + 5, 13);
  file.finish();
  EXPECT_EQ(test::content_of(path), python_file);
  EXPECT_HAS(error_of([&] { SafetensorsWriter again(path, {}); }, ExitCode::internal), path + ": cannot be made");
}

TEST_F(Safetensors, DataAndTensorsAreAligned) {
  for (std::size_t length = 1; length < 12; ++length) {
    const std::string name(length, 'n');
    const std::string text =
        format_safetensors_header(lay_out_safetensors({{.name = name, .dtype = "F32", .shape = {2}}}, {}));
    EXPECT_EQ(text.size() % 8, 0u);
    EXPECT_EQ(parse_safetensors_header(text.substr(8), 8, "x").tensors.front().name, name);
  }
  // Three bf16 take 6 bytes: an fp32 behind them would begin in the middle of a word.
  EXPECT_HAS(error_of(
                 [] {
                   lay_out_safetensors(
                       {{.name = "b", .dtype = "BF16", .shape = {3}}, {.name = "a", .dtype = "F32", .shape = {1}}}, {});
                 },
                 ExitCode::internal),
             "a of F32 cannot begin at byte 6");
}

TEST_F(Safetensors, ReadsDataThatAreNotAligned) {
  // The reference implementation takes such files; ours come through memory and may lie anywhere.
  const std::string json = R"({"b":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]},)"
                           R"("a":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})";
  std::string length(8, '\0');
  length[0] = static_cast<char>(json.size());
  const SafetensorsReader file(file_with(length + json + std::string("\x80\x3f\0\0\xc0\x3f", 6)));
  float a = 0;
  file.read(*file.header().find("a"), 0, 4, &a);
  EXPECT_EQ(a, 1.5f);
}

TEST_F(Safetensors, ShapesWithoutDimensionsAndWithoutElements) {
  const auto header =
      parse_safetensors_header(R"({"none":{"dtype":"F32","shape":[0,4611686018427387904,8],"data_offsets":[0,0]},)"
                               R"("one":{"dtype":"I64","shape":[],"data_offsets":[0,8]}})",
                               8, "x");
  EXPECT_EQ(header.find("none")->bytes(), 0);
  EXPECT_EQ(header.find("one")->bytes(), 8);
}

TEST_F(Safetensors, BadHeadersAreRefusedByName) {
  const auto entry = [](const std::string& inside) { return R"({"t":{)" + inside + "}}"; };
  const std::string f32 = R"("dtype":"F32",)", shape = R"("shape":[2],)", offsets = R"("data_offsets":[0,8])";
  const std::string t = f32 + shape + offsets;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "no valid JSON"},
      {"{", "no valid JSON"},
      {"[]", "no JSON object"},
      {R"({"t":1})", "tensor t is no JSON object"},
      {entry(shape + offsets), "tensor t has no dtype"},
      {entry(f32 + offsets), "tensor t has no shape"},
      {entry(f32 + R"("shape":[2])"), "tensor t has no data_offsets"},
      {entry(R"("dtype":"F33",)" + shape + offsets), "unknown dtype \"F33\""},
      {entry(R"("dtype":7,)" + shape + offsets), "unknown dtype 7"},
      {entry(f32 + R"("shape":2,)" + offsets), "shape is no list"},
      {entry(f32 + R"("shape":[-2],)" + offsets), "shape has -2"},
      {entry(f32 + R"("shape":[2.0],)" + offsets), "shape has 2.0"},
      {entry(f32 + R"("shape":[18446744073709551615],)" + offsets), "shape has 18446744073709551615"},
      {entry(f32 + R"("shape":[4294967296,4294967296],)" + offsets), "shape too large"},
      {entry(f32 + R"("shape":[3],)" + offsets), "8 bytes between its offsets; shape [3] of F32 needs 12"},
      {entry(f32 + shape + R"("data_offsets":[0])"), "expected [begin, end]"},
      {entry(f32 + shape + R"("data_offsets":[8,0])"), "expected [begin, end]"},
      {entry(f32 + shape + R"("data_offsets":[0,-8])"), "data_offsets has -8"},
      {entry(f32 + shape + R"("data_offsets":[4,12])"), "begins at byte 4 of the data, expected 0"},
      {R"({"t":{)" + t + R"(},"t":{)" + t + "}}", "the key \"t\" stands twice"},
      {R"({"t":{)" + t + R"(},"u":{)" + t + "}}", "begins at byte 0 of the data, expected 8"},
      {"{}", "the tensors end at byte 0 of the data, but the file has 8"},
      {R"({"__metadata__":{"a":1},"t":{)" + t + "}}", "__metadata__ has a = 1"},
      {entry(t) + "x", "no valid JSON"},
      {R"({"t":{)" + t + R"(,"dtype":"F32"}})", "the key \"dtype\" stands twice"},
      {entry(R"("dtype":)" + nested(100'000) + "," + shape + offsets), "nested deeper than 32"},
      {entry(f32 + R"("shape":[)" + nested(100'000) + "]," + offsets), "nested deeper than 32"},
      {entry(f32 + shape + R"("data_offsets":)" + nested(100'000)), "nested deeper than 32"},
      {R"({"__metadata__":)" + nested(100'000) + R"(,"t":{)" + t + "}}", "nested deeper than 32"},
      {R"({"__metadata__":{"a":)" + nested(20) + R"(},"t":{)" + t + "}}", "__metadata__ has a = [[[["},
      {entry(R"("dtype":")" + std::string(100'000, 'F') + R"(",)" + shape + offsets), "unknown dtype \"FFFF"},
      {R"({")" + std::string(100'000, 't') + R"(":1})", "tensor tttt"},
      {R"({"a\u001b\nb":1})", R"(tensor a\x1b\nb is no JSON object)"},
  };
  for (const auto& [json, expected] : cases) {
    SCOPED_TRACE(json.substr(0, 200));
    const std::string message = error_of([&json = json] { parse_safetensors_header(json, 8, "the/path"); });
    EXPECT_LT(message.size(), 500u);
    EXPECT_HAS(message, "the/path: ");
    EXPECT_HAS(message, expected);
  }
  EXPECT_EQ(error_or_none([&] { parse_safetensors_header(entry(t), 8, "x"); }), "");  // the one that the others spoil
}

TEST_F(Safetensors, TensorsComeInTheOrderOfTheirData) {
  // So many that a look through all names for each of them takes minutes.
  constexpr std::int64_t many = 80'000;
  std::string json;
  for (std::int64_t i = 0; i < many; ++i) {
    const std::int64_t place = i * 7919 % many;  // coprime
    json += fmt::format(R"({}"model.layers.{}.weight":{{"dtype":"BF16","shape":[1],"data_offsets":[{},{}]}})",
                        i == 0 ? "{" : ",", place, 2 * place, 2 * place + 2);
  }
  const SafetensorsHeader header = parse_safetensors_header(json + "}", 2 * many, "x");
  ASSERT_EQ(std::ssize(header.tensors), many);
  for (std::int64_t i = 0; i < many; ++i) {
    ASSERT_EQ(header.tensors[static_cast<std::size_t>(i)].name, fmt::format("model.layers.{}.weight", i));
  }
}

TEST_F(Safetensors, BadFilesAreRefusedByName) {
  const std::string huge = std::string(7, '\0') + '\x7f', few = std::string("\x30\0\0\0\0\0\0\0", 8);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "0 bytes are too few"},
      {"1234567", "7 bytes are too few"},
      {huge + "{}", "no safetensors file"},
      {few + "{}", "a header of 48 bytes in a file of 10"},
      {python_file.substr(0, python_file.size() - 1), "end at byte 18 of the data, but the file has 17"},
      {python_file + "x", "end at byte 18 of the data, but the file has 19"},
  };
  for (const auto& [content, expected] : cases) {
    SCOPED_TRACE(expected);
    const std::string path = file_with(content);
    const std::string message = error_of([&] { SafetensorsReader file(path); });
    EXPECT_HAS(message, path + ": ");
    EXPECT_HAS(message, expected);
  }
  EXPECT_HAS(error_of([&] { SafetensorsReader file(root_ / "none"); }), "cannot be opened: No such file");
  EXPECT_HAS(error_of([&] { SafetensorsReader file(root_.path()); }), "is no file");
  ASSERT_EQ(::mkfifo((root_ / "pipe").c_str(), 0600), 0);  // to open it waits for who writes to it
  EXPECT_HAS(error_of([&] { SafetensorsReader file(root_ / "pipe"); }), "pipe: is no file");
  std::filesystem::create_symlink("loop", root_ / "loop");  // ELOOP stands for EIO
  EXPECT_THROW(SafetensorsReader{root_ / "loop"}, files::ReadError);
}

TEST_F(Safetensors, EveryFlippedByteOfAHeaderIsRefusedOrHarmless) {
  // Whatever is read from a damaged header, no byte outside the file is.
  for (std::size_t i = 0; i < 8 + python_json.size(); ++i) {
    std::string damaged = python_file;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x15);
    const std::string path = file_with(damaged);
    try {
      const SafetensorsReader file(path);
      std::vector<char> bytes(18);
      for (const SafetensorsEntry& t : file.header().tensors) {
        ASSERT_LE(t.end, 18) << i;
        file.read(t, 0, t.bytes(), bytes.data());
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage) << error.what();
    }
  }
}

}  // namespace
}  // namespace octet::checkpoint
