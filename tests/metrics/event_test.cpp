#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "src/base/error.h"
#include "src/metrics/event_file.h"
#include "tests/support/run_command.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

// RFC 3720, B.4, and the check value of the catalogues of CRCs.
TEST(Crc32c, HasThePublishedValues) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string ascending;
  for (char c = 0; c < 32; ++c) ascending.push_back(c);
  EXPECT_EQ(crc32c(ascending), 0x46dd794eu);
}

// Written by tensorboard 2.21 (its RecordWriter and event_pb2) from the same events.
TEST(EventRecord, IsTensorBoardsByteForByte) {
  constexpr double time = 1700000000.25;
  EXPECT_EQ(hex(version_record(time)),
            "1800000000000000a37f4b220900001040fc54d9411a0d627261696e2e4576656e743a32338d2fe9");
  EXPECT_EQ(hex(start_record(time, 300)), "100000000000000095fbfe180900001040fc54d94110ac023a0208016b3b88f1");
  EXPECT_EQ(hex(scalars_record(time, 300, {{"loss", 2.125}, {"lr", 3e-4}})),
            "2600000000000000734fe3000900001040fc54d94110ac022a180a0b0a046c6f737315000008400a090a026c721552499d39a1202b"
            "af");
}

/// The records of a file, each with its frame.
std::vector<std::string> records_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  std::vector<std::string> records;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.substr(at, 8).c_str(), 8);
    records.push_back(bytes.substr(at, 8 + 4 + length + 4));
    at += records.back().size();
  }
  return records;
}

/// A record's wall time, which is its first field and must be now.
double time_of(const std::string& record) {
  double time = 0;
  std::memcpy(&time, record.substr(8 + 4 + 1, 8).c_str(), 8);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  EXPECT_NEAR(time, std::chrono::duration<double>(now).count(), 3600);
  return time;
}

void expect_scalars(const std::string& record, std::int64_t step, const std::vector<Scalar>& scalars) {
  EXPECT_EQ(hex(record), hex(scalars_record(time_of(record), step, scalars))) << step;
}

class Events : public testing::Test {
 public:
  ~Events() override { fs::remove_all(folder_); }

 protected:
  Events() : folder_(fs::path(testing::TempDir()) / fmt::format("octet-events-{}", getpid())) {
    fs::remove_all(folder_);
  }

  static StepMetrics step(std::int64_t n) {
    StepMetrics m;
    m.step = n;
    m.loss = 5.0 / static_cast<double>(n);
    m.grad_norm = 0.5;
    m.lr = 3e-4;
    m.tokens_per_second = 12345.5;
    m.tflops = 0.25;
    m.memory_bytes = std::int64_t{3} << 29;
    return m;
  }

  /// What TensorBoard reads; none, with the test skipped, when it is not installed.
  std::optional<nlohmann::json> read() const {
    const test::CommandResult r =
        test::run_command("python3 " OCTET_SOURCE_DIR "/tests/metrics/read_events.py " + folder_.string(), 120);
    if (r.exit_code == 3) return std::nullopt;
    EXPECT_EQ(r.exit_code, 0) << r.all();
    return nlohmann::json::parse(r.out);
  }

  fs::path folder_;
};

TEST_F(Events, AreFlushedAfterEachStep) {
  EventWriter writer(folder_.string());
  std::set<std::uintmax_t> sizes = {fs::file_size(writer.path())};
  for (int n = 1; n <= 3; ++n) {
    writer.write(step(n));
    sizes.insert(fs::file_size(writer.path()));
  }
  EXPECT_EQ(sizes.size(), 4u);
  EXPECT_GT(*sizes.begin(), 0u);
  EXPECT_EQ(fs::path(writer.path()).filename().string().rfind("events.out.tfevents.", 0), 0u) << writer.path();
}

TEST_F(Events, EveryWriterHasAFileOfItsOwn) {
  const EventWriter first(folder_.string()), second(folder_.string());
  EXPECT_NE(first.path(), second.path());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
}

TEST_F(Events, HoldWhatWasMeasuredAndNoMore) {
  EventWriter writer(folder_.string());
  writer.write(step(1));
  StepMetrics m = step(2);
  m.validation_loss = 2.25;
  m.validation_bits_per_byte = 0.75;
  m.mfu = 40.0;
  m.passes = {0.5, 1.25, 1.0};
  writer.write(m);
  const std::vector<std::string> records = records_of(writer.path());
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(hex(records[0]), hex(version_record(time_of(records[0]))));
  EXPECT_EQ(hex(records[1]), hex(start_record(time_of(records[1]), 1)));
  std::vector<Scalar> scalars = {{"loss", 5.0},    {"grad_norm", 0.5}, {"lr", 3e-4}, {"tokens_per_second", 12345.5},
                                 {"tflops", 0.25}, {"memory", 1.5}};
  expect_scalars(records[2], 1, scalars);
  scalars[0].value = 2.5;
  scalars.insert(scalars.end(),
                 {{"validation_loss", 2.25}, {"validation_bits_per_byte", 0.75}, {"mfu", 40.0}, {"passes", 1.25}});
  expect_scalars(records[3], 2, scalars);
}

/// So that TensorBoard forgets what the earlier process wrote from there on.
TEST_F(Events, OfARestartedRunSayAtWhichStepItGoesOn) {
  const EventWriter restarted(folder_.string(), 3);
  const std::vector<std::string> records = records_of(restarted.path());
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(hex(records[0]), hex(version_record(time_of(records[0]))));
  EXPECT_EQ(hex(records[1]), hex(start_record(time_of(records[1]), 3)));
}

TEST_F(Events, AreReadByTensorBoard) {
  EventWriter writer(folder_.string());
  StepMetrics m = step(1);
  writer.write(m);
  m = step(2);
  m.validation_loss = 2.5;
  m.mfu = 40.0;
  m.passes = {0.5, 1.25};
  writer.write(m);
  const auto read_back = read();
  if (!read_back) GTEST_SKIP() << "python3 has no package tensorboard";
  const nlohmann::json expected = {{"loss", {{1, 5.0}, {2, 2.5}}},
                                   {"validation_loss", {{2, 2.5}}},
                                   {"grad_norm", {{1, 0.5}, {2, 0.5}}},
                                   {"lr", {{1, 3e-4f}, {2, 3e-4f}}},
                                   {"tokens_per_second", {{1, 12345.5}, {2, 12345.5}}},
                                   {"tflops", {{1, 0.25}, {2, 0.25}}},
                                   {"mfu", {{2, 40.0}}},
                                   {"passes", {{2, 1.25}}},
                                   {"memory", {{1, 1.5}, {2, 1.5}}}};
  EXPECT_EQ(*read_back, expected);
}

/// The first process was killed in the middle of a record of step 4; the second goes on from step 3.
TEST_F(Events, OfARestartedRunAreReadAsOneCurve) {
  std::string path;
  {
    EventWriter killed(folder_.string());
    for (int n = 1; n <= 4; ++n) killed.write(step(n));
    path = killed.path();
  }
  fs::resize_file(path, fs::file_size(path) - 5);
  EventWriter restarted(folder_.string(), 3);
  for (int n = 3; n <= 5; ++n) {
    StepMetrics m = step(n);
    m.loss = n;
    restarted.write(m);
  }
  const auto read_back = read();
  if (!read_back) GTEST_SKIP() << "python3 has no package tensorboard";
  EXPECT_EQ((*read_back)["loss"], (nlohmann::json{{1, 5.0}, {2, 2.5}, {3, 3.0}, {4, 4.0}, {5, 5.0}}));
}

TEST_F(Events, SayWhereTheyCannotBeWritten) {
  try {
    EventWriter writer("/dev/null/tensorboard");
    ADD_FAILURE() << "nothing thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::usage);
    EXPECT_NE(std::string(e.what()).find("/dev/null/tensorboard"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace octet
