#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace octet::cuda {

/// Which of several copies of a library is taken: the one that the dynamic loader finds, by which a site sets what its
/// programs use, or the newest version among all, since a newer one knows faster kernels.
enum class LibraryChoice : std::uint8_t { loaders, newest };

/// A shared library of CUDA that is looked for when it is first needed, so that one program starts with and without it.
/// Looked for, in order: where the loader looks (LD_LIBRARY_PATH, ldconfig); $CUDA_HOME and $CUDA_PATH;
/// /usr/local/cuda; Python's nvidia packages (those of $VIRTUAL_ENV, of each folder of $PYTHONPATH, and of the python3
/// on the PATH).
class DynamicLibrary {
 public:
  /// Says of the path of a copy, or of its bare name, why it is not to be opened; empty where it may be.
  using WhyNot = std::function<std::string(const std::string& path)>;

  /// `file`: e.g. "libcublasLt.so.13", of which all copies have the right major version. `package`: of PyPI, for the
  /// message of the usage error when it is not found. `why_not`: asked of each copy before it is opened; the first that
  /// it lets pass and that can be opened is taken. Never unloaded.
  DynamicLibrary(std::string file, std::string_view package, LibraryChoice choice = LibraryChoice::loaders,
                 const WhyNot& why_not = nullptr);

  /// Opens a file of the folder that this library is in, if it is there, under the name by which this library will ask
  /// the loader for it. The loader would look for that name in LD_LIBRARY_PATH first, and may not look into this folder
  /// at all; a library that is open and has the name comes before all of that. Null where there is no such file, or it
  /// cannot be opened.
  void* open_beside(const std::string& file) const;
  /// From now on functions are those of a file that was opened beside this one, which only passes calls on to it.
  void call(void* beside) { functions_ = beside; }

  /// Address of a function; throws a usage error (a library too old) that names both when there is none.
  void* symbol(const char* name) const;
  template <typename Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }
  /// For dlsym.
  void* handle() const { return functions_; }
  /// The path at which it was found.
  std::string path() const;
  /// Logs what was loaded, "NAME MAJOR.MINOR.PATCH, PATH"; jobs/gpu/bench/bench_train.py reads these lines. `version`:
  /// as the library gives it, see version_text.
  void log_version(std::string_view name, std::size_t version) const;

 private:
  std::string file_;
  void *handle_ = nullptr, *functions_ = nullptr;
};

/// "13.1.0" of 130100: MAJOR * 10000 + MINOR * 100 + PATCH, as cuBLASLt, cuDNN (from 9 on) and NCCL count.
std::string version_text(std::size_t version);

/// The loader's own: LD_LIBRARY_PATH, and those of /etc/ld.so.conf and of the files that it includes.
std::vector<std::string> loader_folders();
/// The paths of a library's copies in the folders, each copy once, the newest first, and of equal ones the first. The
/// version is that in the name of the file that a link leads to (libcublasLt.so.13.1.0.3), or of the Python package
/// that it is a part of (nvidia_cublas-13.1.0.3.dist-info); one that says neither counts as the oldest.
std::vector<std::string> newest_first(const std::string& file, std::string_view package,
                                      const std::vector<std::string>& folders);

}  // namespace octet::cuda
