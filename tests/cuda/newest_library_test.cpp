// Which copy of cuBLASLt, cuDNN and NVRTC a program opens where there are several: the newest of the right CUDA,
// wherever it is, and with it what it opens itself. The copies are of a library that stands in for all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
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
  /// Files that it opens by their names, and that are installed in its folder.
  std::vector<std::string> opens(int minor) const {
    if (logged == "cuDNN") return {"libcudnn_graph.so.9", "libcudnn_engines_precompiled.so.9"};
    if (logged == "NVRTC") return {fmt::format("libnvrtc-builtins.so.{}.{}", major(), minor)};
    return {};
  }
};

/// A file with the stand-in, which is `name` for the loader: it knows an open library by the name in the file.
void write_stand_in(const fs::path& file, const std::string& name) {
  std::ifstream in(OCTET_STAND_IN_LIBRARY, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const std::string placeholder = OCTET_STAND_IN_NAME;
  const std::size_t at = bytes.find(placeholder);
  ASSERT_NE(at, std::string::npos);
  ASSERT_LE(name.size(), placeholder.size());
  bytes.replace(at, placeholder.size(), name + std::string(placeholder.size() - name.size(), '\0'));
  std::ofstream(file, std::ios::binary) << bytes;
}

/// Minor versions are above those of any real copy on this machine.
class NewestLibrary : public testing::Test {
 protected:
  /// A toolkit's library, or one of the loader's folders: a link to the file whose name has the version, as those of
  /// cuDNN's sublibraries have. `cuda`: what cuDNN was made for.
  static void install(const LoadedLibrary& library, const fs::path& folder, int minor, int cuda = cuda::cuda_major) {
    fs::create_directories(folder);
    const std::string real = fmt::format("{}.{}.0", library.name.file, minor);
    write_stand_in(folder / real, library.name.file);
    fs::remove(folder / library.name.file);
    fs::create_symlink(real, folder / library.name.file);
    write_version(folder / library.name.file, library.major(), minor, cuda);
    install_what_it_opens(library, folder, minor, cuda);
    if (library.logged != "cuDNN") return;
    for (const std::string& file : library.opens(minor)) {
      const std::string versioned = fmt::format("{}.{}.0", file, minor);
      fs::copy_file(folder / file, folder / versioned, fs::copy_options::overwrite_existing);
      fs::remove(folder / file);
      fs::create_symlink(versioned, folder / file);
      write_version(folder / versioned, library.major(), minor, cuda);
    }
  }
  /// pip's: the version is in the name of the folder that describes the package, with a number more.
  void install_wheel(const LoadedLibrary& library, int minor) const {
    std::string package = library.name.package;
    std::ranges::replace(package, '-', '_');
    fs::create_directories(packages_ / fmt::format("{}-{}.{}.0.5.dist-info", package, library.major(), minor));
    const fs::path file = wheel(library) / library.name.file;
    fs::create_directories(wheel(library));
    write_stand_in(file, library.name.file);
    write_version(file, library.major(), minor, cuda::cuda_major);
    install_what_it_opens(library, wheel(library), minor, cuda::cuda_major);
  }
  fs::path wheel(const LoadedLibrary& library) const { return packages_ / "nvidia" / library.logged / "lib"; }

  void install_all(int of_loader, int of_toolkit, int of_wheel) const {
    for (const LoadedLibrary& library : libraries_) {
      install(library, loader_, of_loader);
      install(library, toolkit_, of_toolkit);
      install_wheel(library, of_wheel);
    }
  }
  /// Loads all three, in the order that `words` asks for (load_libraries.cpp), and has cuDNN make a plan.
  test::CommandResult load(const std::string& words = "") const {
    return test::run_command(fmt::format("LD_LIBRARY_PATH={} CUDA_HOME={} CUDA_PATH= PYTHONPATH= VIRTUAL_ENV={} {} {}",
                                         loader_.string(), toolkit_.parent_path().string(), environment_.string(),
                                         OCTET_LOAD_LIBRARIES, words));
  }
  static std::string log_line(const LoadedLibrary& library, int minor, const fs::path& folder) {
    return fmt::format("{} {}.{}.0, {}\n", library.logged, library.major(), minor,
                       (folder / library.name.file).string());
  }
  /// Expects a plan, and that the log names the copy in the folder that `where` gives of each.
  template <typename Where>
  void expect_loaded(int minor, Where where, const std::string& words = "") const {
    const test::CommandResult result = load(words);
    EXPECT_EQ(result.exit_code, 0) << result.all();
    for (const LoadedLibrary& library : libraries_) {
      const std::string line = log_line(library, minor, where(library));
      EXPECT_NE(result.all().find(line), std::string::npos) << line << "is not in\n" << result.all();
    }
  }

  const std::vector<LoadedLibrary> libraries_{
      {"cuBLASLt", cuda::cublas_lt_name()}, {"cuDNN", cuda::cudnn_name()}, {"NVRTC", cuda::nvrtc_name()}};
  const LoadedLibrary& cudnn_ = libraries_[1];
  test::TempFolder temp_;
  fs::path loader_ = temp_ / "loader", toolkit_ = temp_ / "cuda/lib64", environment_ = temp_ / "venv",
           packages_ = environment_ / "lib/python3.11/site-packages";

 private:
  /// `opened`: the path by which it will be opened.
  static void write_version(const fs::path& opened, int major, int minor, int cuda) {
    std::ofstream(opened.string() + ".version") << major * 10000 + minor * 100 << ' ' << cuda * 1000;
  }
  static void install_what_it_opens(const LoadedLibrary& library, const fs::path& folder, int minor, int cuda) {
    for (const std::string& file : library.opens(minor)) {
      fs::remove(folder / file);  // which may be a link
      write_stand_in(folder / file, file);
      write_version(folder / file, library.major(), minor, cuda);
    }
  }
};

TEST_F(NewestLibrary, IsOpenedWhereTheLoaderLooks) {
  install_all(99, 97, 98);
  expect_loaded(99, [&](const LoadedLibrary&) { return loader_; });
}

/// Where the loader does not look: what these open by their names is not found by it, or is the older copy's.
TEST_F(NewestLibrary, IsOpenedInAToolkit) {
  install_all(97, 99, 98);
  expect_loaded(99, [&](const LoadedLibrary&) { return toolkit_; });
}

TEST_F(NewestLibrary, IsOpenedInAPythonPackage) {
  install_all(98, 97, 99);
  expect_loaded(99, [&](const LoadedLibrary& library) { return wheel(library); });
}

TEST_F(NewestLibrary, IsThereForACudnnThatIsOpenedFirst) {
  for (const LoadedLibrary& library : libraries_) install_wheel(library, 99);
  expect_loaded(
      99, [&](const LoadedLibrary& library) { return wheel(library); }, "cudnn");
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

/// The loader would give cuDNN's front the graph of the other copy, whose file has the version in its name.
TEST_F(NewestLibrary, StandsBesideAnotherCopyOfItsVersion) {
  for (const LoadedLibrary& library : libraries_) {
    install(library, loader_, 99);
    install_wheel(library, 99);
  }
  expect_loaded(99, [&](const LoadedLibrary& library) { return wheel(library); });
}
TEST_F(NewestLibrary, StandsBesideACopyOfItsVersionForAnotherCuda) {
  install_all(97, 97, 99);
  install(cudnn_, loader_, 99, cuda::cuda_major - 1);
  expect_loaded(99, [&](const LoadedLibrary& library) { return wheel(library); });
}

/// cuDNN's file has the same name for every CUDA; one for another would end the process when it makes a plan.
TEST_F(NewestLibrary, OfAnotherCudaIsPassedOver) {
  install_all(97, 97, 98);
  install(cudnn_, loader_, 99, cuda::cuda_major - 1);
  expect_loaded(98, [&](const LoadedLibrary& library) { return wheel(library); });
}

/// With it alone a program goes on without cuDNN, or with a real copy if the machine has one.
TEST_F(NewestLibrary, OfAnotherCudaIsNotTakenForWantOfABetter) {
  for (const LoadedLibrary& library : libraries_) {
    install(library, loader_, 99, library.logged == "cuDNN" ? cuda::cuda_major - 1 : cuda::cuda_major);
  }
  const test::CommandResult result = load();
  const std::string text = result.all(),
                    why = fmt::format("{} is cuDNN for CUDA {}, and this program is of CUDA {}",
                                      (loader_ / cudnn_.name.file).string(), cuda::cuda_major - 1, cuda::cuda_major);
  EXPECT_LE(result.exit_code, 1) << text;
  EXPECT_NE(text.find(why), std::string::npos) << text;
  EXPECT_EQ(text.find(log_line(cudnn_, 99, loader_)), std::string::npos) << text;
}

}  // namespace
}  // namespace octet::cuda_test
