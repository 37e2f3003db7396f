#pragma once

#include <cublasLt.h>

namespace octet::cuda {

/// The functions of cuBLASLt that are used here. They come from the library when it is first needed, and from a fake in
/// tests. Descriptors are initialised in place, by the functions behind the header's inline cublasLt…Init, so that a
/// plan is a value without an owner.
struct CublasLt {
  decltype(&::cublasLtCreate) create;
  decltype(&::cublasLtGetVersion) version;
  decltype(&::cublasLtGetStatusName) status_name;
  decltype(&::cublasLtMatmulDescInit_internal) init_operation;
  decltype(&::cublasLtMatmulDescSetAttribute) set_operation;
  decltype(&::cublasLtMatrixLayoutInit_internal) init_layout;
  decltype(&::cublasLtMatmulPreferenceInit_internal) init_preference;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) set_preference;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&::cublasLtMatmulAlgoCheck) check_algorithm;
  decltype(&::cublasLtMatmulAlgoConfigGetAttribute) get_algorithm;
  decltype(&::cublasLtMatmul) matmul;

  /// Throws an internal error that says what was tried.
  void check(cublasStatus_t status, const char* what) const;
};

/// The library's, of the major version that we were compiled with. A usage error where it is not found, or older than
/// 12.9.
CublasLt load_cublas_lt();

}  // namespace octet::cuda
