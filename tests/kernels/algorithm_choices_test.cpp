// The text of choices, and the file of it.
#include "kernels/algorithm_choices.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <sstream>

#include "src/base/error.h"
#include "src/base/named_enum.h"
#include "tests/support/error_of.h"

namespace octet {
namespace {

using test::error_of;
AlgorithmChoices two_choices() {
  AlgorithmChoices c{.platform = {.library_version = 130100, .device = "NVIDIA H100 80GB HBM3"}};
  c.by_problem["m1 n2 k3 bf16 x bf16' > f32"] = {
      "0000000000000000 0000000000000001 ffffffffffffffff 0000000000000003 0000000000000004 0000000000000005 "
      "0000000000000006 8000000000000000",
      12.5};
  c.by_problem["another"] = {"9 8 7 6 5 4 3 2", 0.25};
  return c;
}

TEST(AlgorithmChoices, ReadWhatWasWritten) {
  const std::string path = testing::TempDir() + "octet-gemm-choices";
  write_algorithm_choices(path, {});
  write_algorithm_choices(path, two_choices());  // over the first
  EXPECT_EQ(read_algorithm_choices(AlgorithmKind::gemm, path), two_choices());
  std::filesystem::remove(path);
}

TEST(AlgorithmChoices, AreThisText) {
  EXPECT_EQ(text_of(two_choices()),
            "octet gemm plans, version 1\n"
            "cublaslt 130100\n"
            "device NVIDIA H100 80GB HBM3\n"
            "9 8 7 6 5 4 3 2 | 0.25 | another\n"
            "0000000000000000 0000000000000001 ffffffffffffffff 0000000000000003 0000000000000004 0000000000000005 "
            "0000000000000006 8000000000000000 | 12.50 | m1 n2 k3 bf16 x bf16' > f32\n");
  EXPECT_EQ(two_choices().platform.text(), "cuBLASLt 130100 on NVIDIA H100 80GB HBM3");
}

AlgorithmChoices of_attention() {
  return {.platform = {.kind = AlgorithmKind::attention, .library_version = 91900, .device = "GPU"},
          .by_problem = {{"forward b1", {"eng4_k24=0", 500}}}};
}

TEST(AlgorithmChoices, OfAttentionAreNamesOfEngines) {
  EXPECT_EQ(text_of(of_attention()),
            "octet attention plans, version 1\ncudnn 91900\ndevice GPU\neng4_k24=0 | 500.00 | forward b1\n");
  EXPECT_EQ(parse_algorithm_choices(AlgorithmKind::attention, text_of(of_attention()), "FILE"), of_attention());
  EXPECT_EQ(of_attention().platform.text(), "cuDNN 91900 on GPU");
  for (const AlgorithmKind kind : {AlgorithmKind::gemm, AlgorithmKind::attention}) {  // neither is taken for the other
    const std::string other = text_of(kind == AlgorithmKind::gemm ? of_attention() : two_choices());
    EXPECT_EQ(
        error_of([&] { parse_algorithm_choices(kind, other, "FILE"); }),
        fmt::format("[kernels] FILE:1: expected \"octet {} plans, version 1\"; delete the file or name another", kind));
  }
  const std::string two_words = "octet attention plans, version 1\ncudnn 1\ndevice GPU\na b | 1.0 | forward\n";
  EXPECT_NE(error_of([&] {
              parse_algorithm_choices(AlgorithmKind::attention, two_words, "FILE");
            }).find("FILE:4: expected the name"),
            std::string::npos);
}

TEST(AlgorithmChoices, SayWhereTheyAreWrong) {
  const auto refused = [&](int line, const std::string& text) {
    std::istringstream in(text_of(two_choices()));
    std::string broken;
    int number = 0;
    for (std::string l; std::getline(in, l);) broken += (++number == line ? text : l) + "\n";
    const std::string message = error_of([&] { parse_algorithm_choices(AlgorithmKind::gemm, broken, "FILE"); });
    EXPECT_NE(message.find(fmt::format("FILE:{}: expected", line)), std::string::npos) << message;
  };
  refused(1, "octet gemm plans, version 2");
  refused(2, "cublaslt x");
  refused(3, "machine y");
  refused(4, "0 1 2 3 4 5 6 | 1.0 | seven words");
  refused(5, "0 1 2 3 4 5 6 7 | 1.0 |");
  EXPECT_NE(error_of([] { parse_algorithm_choices(AlgorithmKind::gemm, "", "FILE"); }).find("FILE:1: expected"),
            std::string::npos);
}

TEST(AlgorithmChoices, AFolderThatIsNotThereIsNamed) {
  EXPECT_EQ(error_of([] { write_algorithm_choices("/nowhere/plans", {}); }),
            "[kernels] /nowhere/plans: cannot be written: No such file or directory");
  EXPECT_EQ(error_of([] { read_algorithm_choices(AlgorithmKind::gemm, "/nowhere/plans"); }),
            "[kernels] /nowhere/plans: cannot be read: No such file or directory");
}

}  // namespace
}  // namespace octet
