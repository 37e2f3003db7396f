#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <map>
#include <string>

namespace octet::cuda {

struct GemmChoice {
  cublasLtMatmulAlgo_t algorithm{};  ///< 64 bytes that mean something to one version of the library on one GPU
  double microseconds = 0;           ///< as measured when it was chosen
};

/// Choices of algorithms by GemmProblem::text, with what they are valid for.
struct GemmChoices {
  std::uint64_t library_version = 0;  ///< cublasLtGetVersion
  std::string device;                 ///< the GPU's name
  std::map<std::string, GemmChoice> by_problem;
};

/// A line each: a title, "cublaslt VERSION", "device NAME", then "eight hexadecimal words | microseconds | problem".
/// Throws a usage error that names file and line when it is anything else.
GemmChoices read_gemm_choices(const std::string& path);
/// Writes the choices to a file beside `path` and renames that, so that a reader finds a whole file. Throws a usage
/// error when it cannot.
void write_gemm_choices(const std::string& path, const GemmChoices& choices);

}  // namespace octet::cuda
