#include "src/tuning/tuner_library.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/tuning/plugin/fake_world.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

// The loader reads LD_LIBRARY_PATH when a program starts: each case is a new start of this one.
class TunerLibraryDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    // One path for both processes, of which the second runs SetUp() again.
    folder_ = testing::TempDir() + "octet-tuner-library";
    fs::create_directories(folder_);
    fs::copy_file(OCTET_TUNER_PLUGIN, folder_ + "/libnccl-tuner-octet.so", fs::copy_options::overwrite_existing);
    fs::copy_file(OCTET_TUNER_PLUGIN, folder_ + "/libmine.so", fs::copy_options::overwrite_existing);
    fs::copy_file(OCTET_TUNER_PLUGIN, folder_ + "/libnccl-tuner-lib-odd.so", fs::copy_options::overwrite_existing);
    setenv("LD_LIBRARY_PATH", folder_.c_str(), 1);
  }
  void TearDown() override { unsetenv("LD_LIBRARY_PATH"); }

  [[noreturn]] static void print(const std::string& value) {
    const TunerLibrary found = find_tuner_library(value);
    std::fprintf(stderr, "<%s>\n", found.path.c_str());
    std::exit(0);
  }
  std::string folder_;
};

TEST_F(TunerLibraryDeathTest, NamesAreFoundAsNcclFindsThem) {
  for (const auto& [value, file] : {std::pair{"octet", "libnccl-tuner-octet.so"},
                                    {"libnccl-tuner-octet.so", "libnccl-tuner-octet.so"},
                                    {"libmine.so", "libmine.so"},
                                    {"lib-odd", "libnccl-tuner-lib-odd.so"}}) {
    EXPECT_EXIT(print(value), testing::ExitedWithCode(0), "<" + folder_ + "/" + file + ">") << value;
  }
  for (const char* value : {"", "none", "NONE", "mine", "libnowhere.so"}) {
    EXPECT_EXIT(print(value), testing::ExitedWithCode(0), "<>") << value;
  }
}

TEST(TunerLibrary, PathsAreTakenAsTheyAre) {
  test::Folder folder;
  const std::string file = folder.file("no library");
  EXPECT_EQ(find_tuner_library(file).path, file) << "it is not loaded";
  EXPECT_EQ(find_tuner_library(folder.path() + "/octet").path, "") << "no suffix behind a folder";
  EXPECT_EQ(find_tuner_library(folder.path() + "/octet").sought, folder.path() + "/octet");
  EXPECT_EQ(find_tuner_library("nowhere").sought, "nowhere, libnccl-tuner-nowhere.so");
  EXPECT_EQ(find_tuner_library("libnowhere.so").sought, "libnowhere.so");
  EXPECT_EQ(find_tuner_library("STATIC_PLUGIN").path, "/proc/self/exe");
}

TEST(TunerLibrary, OursIsKnownByPathNameAndSuffix) {
  for (const char* value : {"octet", "libnccl-tuner-octet.so", "/a/libnccl-tuner-octet.so"}) {
    EXPECT_TRUE(names_octet_tuner(value)) << value;
  }
  for (const char* value : {"", "ofi", "/a/octet", "libnccl-tuner-ofi.so", "none"}) {
    EXPECT_FALSE(names_octet_tuner(value)) << value;
  }
}

}  // namespace
}  // namespace octet
