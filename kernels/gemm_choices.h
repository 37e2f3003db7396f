#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace octet {

/// The algorithm that a GEMM takes: 64 bytes that mean something to one version of cuBLASLt on one kind of GPU.
struct GemmChoice {
  std::array<std::uint64_t, 8> algorithm{};
  double microseconds = 0;  ///< as measured when it was chosen

  bool operator==(const GemmChoice&) const = default;
};

/// What choices are valid for.
struct GemmPlatform {
  std::uint64_t library_version = 0;  ///< cublasLtGetVersion
  std::string device;                 ///< the GPU's name

  bool operator==(const GemmPlatform&) const = default;
  /// "cuBLASLt 130100 on NVIDIA H100 80GB HBM3"
  std::string text() const;
};

/// Choices by the text that describes a GEMM to the library (gemm_problem of kernels/gemm_timing.h).
struct GemmChoices {
  GemmPlatform platform;
  std::map<std::string, GemmChoice> by_problem{};

  bool operator==(const GemmChoices&) const = default;
};

/// The text of a file of choices, a line each: a title, "cublaslt VERSION", "device NAME", then "eight hexadecimal
/// words | microseconds | problem".
std::string text_of(const GemmChoices& choices);
/// The choices in such a text. Throws a usage error that names `source` and the line when it is anything else.
GemmChoices parse_gemm_choices(const std::string& text, const std::string& source);
/// The choices of a file; a usage error where it cannot be read too.
GemmChoices read_gemm_choices(const std::string& path);
/// Replaces the file whole (src/base/replace_file.h). Throws a usage error when it cannot.
void write_gemm_choices(const std::string& path, const GemmChoices& choices);

}  // namespace octet
