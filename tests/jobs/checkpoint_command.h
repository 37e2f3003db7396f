#pragma once

#include "checkpoints/format/manifest.h"
#include "tests/checkpoints/small_checkpoint.h"
#include "tests/jobs/job.h"

namespace octet::test {

inline const std::string octet_checkpoint = OCTET_BIN_DIR "/octet checkpoint ";

/// A run with checkpoints of steps 10, 20, 30, each with other weights.
class CheckpointCommand : public testing::Test {
 protected:
  CheckpointCommand() {
    for (const int step : {10, 20, 30}) checkpoint::test::write_small(at(step), step, static_cast<std::uint32_t>(step));
  }
  std::string run() const { return folder_ / "run"; }
  std::string at(std::int64_t step) const { return folder_ / ("run/checkpoints/" + checkpoint::directory_name(step)); }
  static CommandResult call(const std::string& arguments) { return run_command(octet_checkpoint + arguments); }
  /// Runs it and expects that exit code and these parts of what it says.
  static std::string expect(int code, const std::string& arguments, const std::vector<std::string>& parts = {}) {
    SCOPED_TRACE(arguments);
    const CommandResult result = call(arguments);
    EXPECT_EQ(result.exit_code, code) << result.all();
    for (const std::string& part : parts) EXPECT_HAS(result.all(), part);
    return result.out;
  }
  static void flip(const std::string& path) {
    std::string bytes = read_bytes(path);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
    write_bytes(path, bytes);
  }
  static void write_without_the_largest(const std::string& directory, std::int64_t step) {
    const auto tensors = checkpoint::training_tensors(checkpoint::test::small_model(false));
    auto values = checkpoint::test::values_of(tensors, 1);
    checkpoint::test::without_the_largest(values);
    checkpoint::test::write_values(directory, checkpoint::test::small_state(step, false), tensors, values, 3);
  }
  TempFolder folder_;
};

}  // namespace octet::test
