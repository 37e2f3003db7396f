#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/cuda/host/cublas_lt.h"
#include "tests/cuda/cublas_lt_rules.h"

namespace octet::cuda_test {

/// A recording stand-in for cuBLASLt, which refuses what the library does (cublas_lt_rules.h). What is set on a
/// descriptor is kept in the descriptor's own words, so that it is copied with it; calls are kept in order.
struct FakeLibrary {
  struct Proposal {
    std::uint64_t id = 0;
    std::uint32_t scheme = CUBLASLT_REDUCTION_SCHEME_NONE;
    std::size_t workspace = 0;
    cublasStatus_t state = CUBLAS_STATUS_SUCCESS;
  };
  struct Call {
    cublasLtMatmulDescOpaque_t operation{};
    cublasLtMatrixLayoutOpaque_t first{}, second{}, c{}, d{};
    cublasLtMatmulPreferenceOpaque_t preference{};  ///< of a heuristic
    cublasLtMatmulAlgo_t algorithm{};               ///< of a launch and what follows
    int count = 0;                                  ///< of a heuristic
    const void *a = nullptr, *b = nullptr;
    const void* c_data = nullptr;
    void *d_data = nullptr, *workspace = nullptr;
    std::size_t workspace_bytes = 0;
    float alpha = 0, beta = 0;
  };

  // What it answers.
  std::vector<Proposal> proposals{{.id = 1}};
  cublasStatus_t heuristic_status = CUBLAS_STATUS_SUCCESS;
  cublasStatus_t check_status = CUBLAS_STATUS_SUCCESS;
  std::size_t check_workspace = 0;
  std::size_t version = 130100;
  bool hopper = true;  ///< what the GPU is
  // What it was asked.
  std::vector<Call> heuristics, launches;
  int checks = 0;
  std::string broken_rule;  ///< of the last question or launch, which was then refused

  static FakeLibrary& get() {
    static FakeLibrary instance;
    return instance;
  }

  /// The word in which an attribute is kept.
  static std::uint64_t at(const cublasLtMatmulDescOpaque_t& d, cublasLtMatmulDescAttributes_t a) { return d.data[a]; }
  static std::uint64_t at(const cublasLtMatmulPreferenceOpaque_t& p, cublasLtMatmulPreferenceAttributes_t a) {
    return p.data[a - 1];
  }
};

inline cublasLtMatmulAlgo_t algorithm(std::uint64_t id, std::uint32_t scheme = 0, std::size_t workspace = 0) {
  return {{id, scheme, workspace, 0, 0, 0, 0, 0xFFFF'0000'1234'5678u}};
}

inline Product::Matrix matrix_of(cublasLtMatrixLayout_t l) {
  return {.type = l->data[0], .rows = l->data[1], .columns = l->data[2], .leading = l->data[3]};
}

inline Product product_of(cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                          cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
  const auto word = [&](cublasLtMatmulDescAttributes_t attribute) { return FakeLibrary::at(*operation, attribute); };
  return {.compute_type = word(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE),
          .scale_type = word(CUBLASLT_MATMUL_DESC_SCALE_TYPE),
          .transposed_a = word(CUBLASLT_MATMUL_DESC_TRANSA),
          .transposed_b = word(CUBLASLT_MATMUL_DESC_TRANSB),
          .fast_accumulate = word(CUBLASLT_MATMUL_DESC_FAST_ACCUM),
          .scale_mode_a = word(CUBLASLT_MATMUL_DESC_A_SCALE_MODE) & 0xFFFF'FFFFu,
          .scale_mode_b = word(CUBLASLT_MATMUL_DESC_A_SCALE_MODE) >> 32,
          .scale_a = word(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER),
          .scale_b = word(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER),
          .a = matrix_of(a),
          .b = matrix_of(b),
          .c = matrix_of(c),
          .d = matrix_of(d)};
}

inline std::uint64_t number_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

inline std::uint64_t word_of(const void* value, std::size_t bytes) {
  std::uint64_t word = 0;
  EXPECT_LE(bytes, sizeof word);
  std::memcpy(&word, value, bytes);
  return word;
}

inline octet::cuda::CublasLt fake_cublas_lt() {
  octet::cuda::CublasLt t{};
  t.version = [] { return FakeLibrary::get().version; };
  t.status_name = [](cublasStatus_t s) { return s == CUBLAS_STATUS_SUCCESS ? "SUCCESS" : "SOME_ERROR"; };
  t.init_operation = [](cublasLtMatmulDesc_t d, std::size_t bytes, cublasComputeType_t compute, cudaDataType_t scale) {
    EXPECT_EQ(bytes, sizeof *d);
    *d = {};
    d->data[CUBLASLT_MATMUL_DESC_COMPUTE_TYPE] = static_cast<std::uint64_t>(compute);
    d->data[CUBLASLT_MATMUL_DESC_SCALE_TYPE] = static_cast<std::uint64_t>(scale);
    return CUBLAS_STATUS_SUCCESS;
  };
  t.set_operation = [](cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t a, const void* v, std::size_t bytes) {
    if (!rules::has_attribute(a, FakeLibrary::get().version)) return CUBLAS_STATUS_INVALID_VALUE;
    if (bytes != rules::bytes_of(a)) return CUBLAS_STATUS_INVALID_VALUE;
    if (a == CUBLASLT_MATMUL_DESC_B_SCALE_MODE) {  // one word more than the descriptor has: beside its counterpart
      d->data[CUBLASLT_MATMUL_DESC_A_SCALE_MODE] |= word_of(v, bytes) << 32;
    } else {
      d->data[a] = word_of(v, bytes);
    }
    return CUBLAS_STATUS_SUCCESS;
  };
  t.init_layout = [](cublasLtMatrixLayout_t l, std::size_t bytes, cudaDataType type, std::uint64_t rows,
                     std::uint64_t columns, std::int64_t ld) {
    EXPECT_EQ(bytes, sizeof *l);
    *l = {{static_cast<std::uint64_t>(type), rows, columns, static_cast<std::uint64_t>(ld)}};
    return CUBLAS_STATUS_SUCCESS;
  };
  t.init_preference = [](cublasLtMatmulPreference_t p, std::size_t bytes) {
    EXPECT_EQ(bytes, sizeof *p);
    *p = {};
    return CUBLAS_STATUS_SUCCESS;
  };
  t.set_preference = [](cublasLtMatmulPreference_t p, cublasLtMatmulPreferenceAttributes_t a, const void* v,
                        std::size_t bytes) {
    if (bytes != rules::bytes_of(a)) return CUBLAS_STATUS_INVALID_VALUE;
    p->data[a - 1] = word_of(v, bytes);
    return CUBLAS_STATUS_SUCCESS;
  };
  t.heuristic = [](cublasLtHandle_t, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t first,
                   cublasLtMatrixLayout_t second, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                   cublasLtMatmulPreference_t preference, int count, cublasLtMatmulHeuristicResult_t* results,
                   int* found) {
    FakeLibrary& fake = FakeLibrary::get();
    FakeLibrary::Call call;
    call.operation = *operation;
    call.first = *first;
    call.second = *second;
    call.c = *c;
    call.d = *d;
    call.preference = *preference;
    call.count = count;
    fake.heuristics.push_back(call);
    *found = 0;
    const Product product = product_of(operation, first, second, c, d);
    fake.broken_rule = rules::descriptors(product);
    if (fake.broken_rule.empty()) fake.broken_rule = rules::scale_modes(product, fake.version, fake.hopper);
    const auto least = [&](cublasLtMatmulPreferenceAttributes_t a) { return FakeLibrary::at(*preference, a); };
    if (fake.broken_rule.empty()) {
      fake.broken_rule = rules::alignments(
          product,
          {least(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES), least(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES),
           least(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES), least(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)});
    }
    if (!fake.broken_rule.empty()) return CUBLAS_STATUS_NOT_SUPPORTED;
    for (const FakeLibrary::Proposal& p : fake.proposals) {
      if (*found == count) break;
      results[*found] = {};
      results[*found].algo = algorithm(p.id, p.scheme, p.workspace);
      results[*found].workspaceSize = p.workspace;
      results[*found].state = p.state;
      ++*found;
    }
    return fake.heuristic_status;
  };
  t.check_algorithm = [](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                         cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*,
                         cublasLtMatmulHeuristicResult_t* result) {
    ++FakeLibrary::get().checks;
    result->workspaceSize = FakeLibrary::get().check_workspace;
    return FakeLibrary::get().check_status;
  };
  t.get_algorithm = [](const cublasLtMatmulAlgo_t* a, cublasLtMatmulAlgoConfigAttributes_t attribute, void* value,
                       std::size_t bytes, std::size_t* written) {
    EXPECT_EQ(attribute, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
    EXPECT_EQ(bytes, 4u);
    std::memcpy(value, &a->data[1], 4);
    *written = 4;
    return CUBLAS_STATUS_SUCCESS;
  };
  t.matmul = [](cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                cublasLtMatrixLayout_t first, const void* b, cublasLtMatrixLayout_t second, const void* beta,
                const void* c_data, cublasLtMatrixLayout_t c, void* d_data, cublasLtMatrixLayout_t d,
                const cublasLtMatmulAlgo_t* algo, void* workspace, std::size_t workspace_bytes, cudaStream_t) {
    FakeLibrary::get().launches.push_back({.operation = *operation,
                                           .first = *first,
                                           .second = *second,
                                           .c = *c,
                                           .d = *d,
                                           .algorithm = *algo,
                                           .a = a,
                                           .b = b,
                                           .c_data = c_data,
                                           .d_data = d_data,
                                           .workspace = workspace,
                                           .workspace_bytes = workspace_bytes,
                                           .alpha = *static_cast<const float*>(alpha),
                                           .beta = *static_cast<const float*>(beta)});
    FakeLibrary::get().broken_rule =
        broken_rule(product_of(operation, first, second, c, d),
                    {number_of(a), number_of(b), number_of(c_data), number_of(d_data), number_of(workspace)},
                    FakeLibrary::get().version, FakeLibrary::get().hopper);
    if (algo->data[2] > workspace_bytes) FakeLibrary::get().broken_rule = "less workspace than its algorithm wants";
    // "C: Must be provided if beta != 0" (cublasLtMatmul's parameters).
    if (*static_cast<const float*>(beta) != 0 && c_data == nullptr) {
      FakeLibrary::get().broken_rule = "a sum with a C that is not there";
    }
    return FakeLibrary::get().broken_rule.empty() ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
  };
  return t;
}

}  // namespace octet::cuda_test
