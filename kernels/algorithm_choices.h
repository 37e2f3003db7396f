#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "src/base/named_enum.h"

namespace octet {

/// What a library of a GPU can do in several ways, which differ in speed and in rounding.
enum class AlgorithmKind : std::uint8_t { gemm, attention };
constexpr auto names_of(AlgorithmKind) {
  return std::to_array<std::string_view>({"gemm", "attention"});
}

/// The algorithm that is taken. It means something to one version of the library on one kind of GPU.
struct AlgorithmChoice {
  std::string algorithm;    ///< of a GEMM eight words in hexadecimal; of attention cuDNN's name of an engine
  double microseconds = 0;  ///< as measured when it was chosen

  bool operator==(const AlgorithmChoice&) const = default;
};

/// What choices are valid for.
struct AlgorithmPlatform {
  AlgorithmKind kind = AlgorithmKind::gemm;
  std::uint64_t library_version = 0;  ///< cublasLtGetVersion or cudnnGetVersion; 0: there is no library
  std::string device;                 ///< the GPU's name

  bool operator==(const AlgorithmPlatform&) const = default;
  /// "cuBLASLt 130100 on NVIDIA H100 80GB HBM3"
  std::string text() const;
};

/// Choices by the text that describes a problem (gemm_problem of kernels/gemm_timing.h, text_of of
/// kernels/attention.h).
struct AlgorithmChoices {
  AlgorithmPlatform platform;
  std::map<std::string, AlgorithmChoice> by_problem{};

  bool operator==(const AlgorithmChoices&) const = default;
};

/// The text of a file of choices, a line each: a title, "cublaslt VERSION" or "cudnn VERSION", "device NAME", then
/// "algorithm | microseconds | problem".
std::string text_of(const AlgorithmChoices& choices);
/// The choices in such a text. Throws a usage error that names `source` and the line when it is anything else.
AlgorithmChoices parse_algorithm_choices(AlgorithmKind kind, const std::string& text, const std::string& source);
/// The choices of a file. Where it cannot be read, throws a usage error for a path that is wrong, and an internal one
/// for a disk or a file server that fails (not_read of src/base/files.h).
AlgorithmChoices read_algorithm_choices(AlgorithmKind kind, const std::string& path);
/// Replaces the file whole (src/base/replace_file.h). Where it cannot, throws a usage error for a path that is wrong,
/// and an internal one for a full disk or a device that fails (not_written of src/base/files.h).
void write_algorithm_choices(const std::string& path, const AlgorithmChoices& choices);

}  // namespace octet
