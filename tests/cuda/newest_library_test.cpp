// Which copy of cuBLASLt, cuDNN and NVRTC a program opens where there are several: the newest of the right major
// version, wherever it is. The copies are of a library that stands in for all three.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "kernels/cuda/host/libraries.h"
#include "tests/data/support.h"
#include "tests/support/run_command.h"

namespace octet::cuda_test {
namespace {

namespace fs = std::filesystem;

struct LoadedLibrary {
  std::string logged;  ///< its name in the log
  cuda::LibraryName name;

  int major() const { return std::stoi(name.file.substr(name.file.rfind('.') + 1)); }
};

/// Minor versions are above those of any real copy on this machine.
class NewestLibrary : public testing::Test {
 protected:
  /// A toolkit's library, or one of the loader's folders: a link to the file whose name has the version.
  static void install(const LoadedLibrary& library, const fs::path& folder, int minor) {
    fs::create_directories(folder);
    const std::string real = fmt::format("{}.{}.0", library.name.file, minor);
    copy(folder / real, folder / library.name.file, library.major(), minor);
    fs::create_symlink(real, folder / library.name.file);
  }
  /// pip's: the version is in the name of the folder that describes the package.
  void install_wheel(const LoadedLibrary& library, int minor) const {
    std::string package = library.name.package;
    std::ranges::replace(package, '-', '_');
    fs::create_directories(packages_ / fmt::format("{}-{}.{}.0.dist-info", package, library.major(), minor));
    const fs::path file = wheel(library) / library.name.file;
    fs::create_directories(wheel(library));
    copy(file, file, library.major(), minor);
  }
  fs::path wheel(const LoadedLibrary& library) const { return packages_ / "nvidia" / library.logged / "lib"; }

  void install_all(int of_loader, int of_toolkit, int of_wheel) const {
    for (const LoadedLibrary& library : libraries_) {
      install(library, loader_, of_loader);
      install(library, toolkit_, of_toolkit);
      install_wheel(library, of_wheel);
    }
  }
  /// Loads all three, and expects that the log names the copy in the folder that `where` gives of each.
  template <typename Where>
  void expect_loaded(int minor, Where where) const {
    const test::CommandResult result = test::run_command(
        fmt::format("LD_LIBRARY_PATH={} CUDA_HOME={} CUDA_PATH= PYTHONPATH= VIRTUAL_ENV={} {}", loader_.string(),
                    toolkit_.parent_path().string(), environment_.string(), OCTET_LOAD_LIBRARIES));
    EXPECT_EQ(result.exit_code, 0) << result.all();
    for (const LoadedLibrary& library : libraries_) {
      const fs::path path = fs::path(where(library)) / library.name.file;
      const std::string line = fmt::format("{} {}.{}.0, {}\n", library.logged, library.major(), minor, path.string());
      EXPECT_NE(result.all().find(line), std::string::npos) << line << "is not in\n" << result.all();
    }
  }

  const std::vector<LoadedLibrary> libraries_{
      {"cuBLASLt", cuda::cublas_lt_name()}, {"cuDNN", cuda::cudnn_name()}, {"NVRTC", cuda::nvrtc_name()}};
  test::TempFolder temp_;
  fs::path loader_ = temp_ / "loader", toolkit_ = temp_ / "cuda/lib64", environment_ = temp_ / "venv",
           packages_ = environment_ / "lib/python3.11/site-packages";

 private:
  /// `opened`: the path by which it will be opened.
  static void copy(const fs::path& to, const fs::path& opened, int major, int minor) {
    fs::copy_file(OCTET_STAND_IN_LIBRARY, to);
    std::ofstream(opened.string() + ".version") << major * 10000 + minor * 100;
  }
};

TEST_F(NewestLibrary, IsOpenedWhereTheLoaderLooks) {
  install_all(99, 97, 98);
  expect_loaded(99, [&](const LoadedLibrary&) { return loader_; });
}

TEST_F(NewestLibrary, IsOpenedInAToolkit) {
  install_all(97, 99, 98);
  expect_loaded(99, [&](const LoadedLibrary&) { return toolkit_; });
}

TEST_F(NewestLibrary, IsOpenedInAPythonPackage) {
  install_all(98, 97, 99);
  expect_loaded(99, [&](const LoadedLibrary& library) { return wheel(library); });
}

/// What is newest and cannot be opened is no reason to go without, nor is another major version beside it newer.
TEST_F(NewestLibrary, ThatCanBeOpenedIsTaken) {
  install_all(97, 99, 98);
  for (LoadedLibrary library : libraries_) {
    std::ofstream(toolkit_ / (library.name.file + ".99.0")) << "no library";
    library.name.file = fmt::format("{}{}", library.name.file.substr(0, library.name.file.rfind('.') + 1), 77);
    install(library, toolkit_, 99);
  }
  expect_loaded(98, [&](const LoadedLibrary& library) { return wheel(library); });
}

}  // namespace
}  // namespace octet::cuda_test
