// What depends on the version of cuBLASLt: which one a program refuses when it loads it, and which scales the stand-in
// has.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "kernels/cuda/host/libraries.h"
#include "tests/cuda/fake_cublas_lt.h"
#include "tests/data/support.h"
#include "tests/support/run_command.h"

namespace octet::cuda_test {
namespace {

namespace fs = std::filesystem;

/// Loads a library that says that it has this version. The name of its file is newer than any real copy's.
test::CommandResult load_version(const test::TempFolder& temp, std::size_t version) {
  const std::string name = cuda::cublas_lt_name().file;
  const fs::path folder = temp / std::to_string(version);
  fs::create_directories(folder);
  fs::copy_file(OCTET_STAND_IN_LIBRARY, folder / (name + ".99.0"));
  fs::create_symlink(name + ".99.0", folder / name);
  std::ofstream((folder / name).string() + ".version") << version;
  return test::run_command(fmt::format("LD_LIBRARY_PATH={} {}", folder.string(), OCTET_LOAD_LIBRARIES));
}

TEST(CublasLtVersions, OneBefore129IsRefused) {
  const test::TempFolder temp;
  const test::CommandResult old = load_version(temp, 120805);
  EXPECT_NE(old.exit_code, 0);
  const std::string message = fmt::format(
      "[kernels] {} is cuBLASLt 12.8.5, the newest that could be opened; expected 12.9.0 or later: install it (for "
      "example `pip install --upgrade {}`) or name its folder in LD_LIBRARY_PATH",
      temp / ("120805/" + cuda::cublas_lt_name().file), cuda::cublas_lt_name().package);
  EXPECT_NE(old.all().find(message), std::string::npos) << message << "\nis not in\n" << old.all();

  const test::CommandResult first = load_version(temp, 120900);
  EXPECT_NE(first.all().find("cuBLASLt 12.9.0, "), std::string::npos) << first.all();
  EXPECT_EQ(first.all().find("expected 12.9.0"), std::string::npos) << first.all();
}

/// 12.6 does not know the attribute, later ones take any value of it.
TEST(CublasLtVersions, TheStandInHasTheModesOfScalesSince128) {
  const auto status = [](std::size_t version, cublasLtMatmulDescAttributes_t attribute, std::int32_t value) {
    FakeLibrary::get() = {};
    FakeLibrary::get().version = version;
    cublasLtMatmulDescOpaque_t operation{};
    return fake_cublas_lt().set_operation(&operation, attribute, &value, sizeof value);
  };
  for (const auto mode : {CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_DESC_B_SCALE_MODE}) {
    EXPECT_EQ(status(120799, mode, CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(status(120800, mode, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(status(130100, mode, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F), CUBLAS_STATUS_SUCCESS);
  }
  EXPECT_EQ(status(120799, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T), CUBLAS_STATUS_SUCCESS);
}

TEST(CublasLtVersions, TheStandInHasScalesOfRowsAndBlocksSince129OnHopperAlone) {
  const auto rule = [](std::uint64_t a, std::uint64_t b, std::uint64_t version, bool hopper) {
    const Product p{.scale_mode_a = a,
                    .scale_mode_b = b,
                    .a = {.type = CUDA_R_8F_E4M3, .rows = 128, .columns = 384, .leading = 128},
                    .b = {.type = CUDA_R_8F_E4M3, .rows = 128, .columns = 256, .leading = 128},
                    .c = {},
                    .d = {.type = CUDA_R_16BF, .rows = 384, .columns = 256, .leading = 384}};
    return rules::scale_modes(p, version, hopper);
  };
  constexpr std::uint64_t scalar = 0, ue4m3 = 1, ue8m0 = 2, outer = 3, vectors = 4, blocks = 5;
  EXPECT_EQ(rule(scalar, scalar, 120800, false), "");
  EXPECT_EQ(rule(outer, outer, 120900, true), "");
  EXPECT_EQ(rule(outer, outer, 120899, true), "outer-vector scales are of cuBLASLt 12.9");
  EXPECT_EQ(rule(outer, outer, 130100, false), "outer-vector scales are of Hopper alone");
  EXPECT_EQ(rule(outer, scalar, 130100, true), "outer-vector scales are for both operands or none");
  EXPECT_EQ(rule(scalar, outer, 130100, true), "outer-vector scales are for both operands or none");
  EXPECT_EQ(rule(ue4m3, ue4m3, 130100, true), "a scale mode that Hopper does not have here");
  EXPECT_EQ(rule(ue8m0, ue8m0, 130100, true), "a scale mode that Hopper does not have here");
  EXPECT_EQ(rule(vectors, vectors, 120900, true), "");
  EXPECT_EQ(rule(blocks, vectors, 120899, true), "block scales are of cuBLASLt 12.9");
  EXPECT_EQ(rule(blocks, vectors, 130100, false), "block scales are of Hopper alone");
}

}  // namespace
}  // namespace octet::cuda_test
