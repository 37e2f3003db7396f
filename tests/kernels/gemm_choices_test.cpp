// The text of GEMM choices, and the file of it.
#include "kernels/gemm_choices.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <sstream>

#include "src/base/error.h"

namespace octet {
namespace {

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::usage);
    return e.what();
  }
  return "";
}

GemmChoices two_choices() {
  GemmChoices c{.platform = {.library_version = 130100, .device = "NVIDIA H100 80GB HBM3"}};
  c.by_problem["m1 n2 k3 bf16 x bf16' > f32"] = {{0, 1, 0xFFFF'FFFF'FFFF'FFFFu, 3, 4, 5, 6, 0x8000'0000'0000'0000u},
                                                 12.5};
  c.by_problem["another"] = {{9, 8, 7, 6, 5, 4, 3, 2}, 0.25};
  return c;
}

TEST(GemmChoices, ReadWhatWasWritten) {
  const std::string path = testing::TempDir() + "octet-gemm-choices";
  write_gemm_choices(path, {});
  write_gemm_choices(path, two_choices());  // over the first
  EXPECT_EQ(read_gemm_choices(path), two_choices());
  std::filesystem::remove(path);
}

TEST(GemmChoices, AreThisText) {
  EXPECT_EQ(text_of(two_choices()),
            "octet gemm plans, version 1\n"
            "cublaslt 130100\n"
            "device NVIDIA H100 80GB HBM3\n"
            "0000000000000009 0000000000000008 0000000000000007 0000000000000006 0000000000000005 0000000000000004 "
            "0000000000000003 0000000000000002 | 0.25 | another\n"
            "0000000000000000 0000000000000001 ffffffffffffffff 0000000000000003 0000000000000004 0000000000000005 "
            "0000000000000006 8000000000000000 | 12.50 | m1 n2 k3 bf16 x bf16' > f32\n");
  EXPECT_EQ(two_choices().platform.text(), "cuBLASLt 130100 on NVIDIA H100 80GB HBM3");
}

TEST(GemmChoices, SayWhereTheyAreWrong) {
  const auto refused = [&](int line, const std::string& text) {
    std::istringstream in(text_of(two_choices()));
    std::string broken;
    int number = 0;
    for (std::string l; std::getline(in, l);) broken += (++number == line ? text : l) + "\n";
    const std::string message = error_of([&] { parse_gemm_choices(broken, "FILE"); });
    EXPECT_NE(message.find(fmt::format("FILE:{}: expected", line)), std::string::npos) << message;
  };
  refused(1, "octet gemm plans, version 2");
  refused(2, "cublaslt x");
  refused(3, "machine y");
  refused(4, "0 1 2 3 4 5 6 | 1.0 | seven words");
  refused(5, "0 1 2 3 4 5 6 7 | 1.0 |");
  EXPECT_NE(error_of([] { parse_gemm_choices("", "FILE"); }).find("FILE:1: expected"), std::string::npos);
}

TEST(GemmChoices, AFolderThatIsNotThereIsNamed) {
  EXPECT_EQ(error_of([] { write_gemm_choices("/nowhere/plans", {}); }), "[kernels] /nowhere/plans: cannot be written");
  EXPECT_EQ(error_of([] { read_gemm_choices("/nowhere/plans"); }), "[kernels] /nowhere/plans: cannot be opened");
}

}  // namespace
}  // namespace octet
