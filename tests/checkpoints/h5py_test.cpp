#include <gtest/gtest.h>

#include <cstdlib>

#include "checkpoints/format/view.h"
#include "tests/checkpoints/virtual_ranks.h"
#include "tests/support/run_command.h"

namespace octet::checkpoint::test {
namespace {

using H5py = OneProcess;

/// OCTET_TEST_PYTHON: a Python with h5py and xxhash. By default the system's, which jobs/install-packages.sh gives them
/// and which need not be the first of PATH.
std::string script() {
  const char* given = std::getenv("OCTET_TEST_PYTHON");
  const std::string python = given != nullptr ? given : "/usr/bin/python3";
  return python + " " + OCTET_SOURCE_DIR + "/tests/checkpoints/read_with_h5py.py ";
}

// The format as its page describes it, read by a program that shares no line with the one that wrote it.
TEST_F(H5py, ReadsEveryTensorFromShardsAndView) {
  std::vector<ModelTensor> model;
  for (const DType dtype : {DType::f32, DType::bf16, DType::e4m3, DType::e5m2, DType::i32, DType::u8}) {
    model.push_back({{"first_moment/" + std::string(name_of(dtype)), dtype, {22, 12}}, 1});
  }
  model.push_back({{"norm", DType::f32, {7}}, -1});
  const TemporaryDirectory directory;
  const std::string path = directory / directory_name(12);
  save(path, {2, 3, 2}, model);
  write_view(path);
  std::filesystem::create_directories(directory / "expected/first_moment");
  for (std::size_t t = 0; t < model.size(); ++t) {
    const StoredTensor& tensor = model[t].stored;
    const auto bytes = content_of(static_cast<int>(t), tensor, whole(tensor.shape));
    put_file(directory / ("expected/" + tensor.name), std::string(bytes.begin(), bytes.end()));
  }

  const auto good = octet::test::run_command(script() + path + " " + (directory / "expected"));
  if (good.exit_code == 77) GTEST_SKIP() << good.all();
  EXPECT_EQ(good.exit_code, 0) << good.all();
  EXPECT_NE(good.out.find("7 tensors, "), std::string::npos) << good.all();
  EXPECT_EQ(good.out.find("not compared"), std::string::npos) << "no xxhash: " << good.all();

  const std::string shard = path + "/" + file_name(0);
  const auto middle = static_cast<std::int64_t>(std::filesystem::file_size(shard) / 2);
  flip_bit(shard, middle);
  const auto damaged = octet::test::run_command(script() + path);
  EXPECT_EQ(damaged.exit_code, 1) << damaged.all();
  EXPECT_NE(damaged.all().find(file_name(0) + ": hash"), std::string::npos) << damaged.all();
  flip_bit(shard, middle);

  flip_bit(directory / "expected/norm", 5);
  const auto other = octet::test::run_command(script() + path + " " + (directory / "expected"));
  EXPECT_EQ(other.exit_code, 1) << other.all();
  EXPECT_NE(other.all().find("norm"), std::string::npos) << other.all();

  flip_bit(path + "/" + manifest_name, 100);
  EXPECT_EQ(octet::test::run_command(script() + path).exit_code, 1);
}

}  // namespace
}  // namespace octet::checkpoint::test
