# Attention has inner products of its own, where fused multiply-add is wanted.
foreach(file attention/attention_forward attention/attention_backward attention/attention_onednn_forward
             attention/attention_onednn_backward attention/span_attention gemm/few_rows)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/kernels/cpu/${file}.cpp PROPERTIES COMPILE_OPTIONS "-ffp-contract=fast")
endforeach()

# cudnn-frontend's headers: in one file, found by cmake/cuda.cmake, as system headers; cuDNN itself is loaded at run time.
# -O1: there is nothing in it to make fast, and it takes half the time.
if(OCTET_CUDA)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/kernels/cuda/attention/attention_cudnn.cpp PROPERTIES
    COMPILE_OPTIONS "-O1;-isystem;${CUDNN_FRONTEND_INCLUDE_DIR};-isystem;${CUDNN_INCLUDE_DIR}"
    COMPILE_DEFINITIONS "NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING;CUDNN_FRONTEND_SKIP_JSON_LIB")
endif()

# In whose place a test has libraries of its own (tests/emulated).
if(OCTET_CUDA)
  set_source_files_properties(
    ${PROJECT_SOURCE_DIR}/kernels/cuda/host/cublas_lt.cpp ${PROJECT_SOURCE_DIR}/kernels/cuda/host/cudnn_loading.cpp
    PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endif()

# Sanitized loops are not vectorised, of which clang warns.
if(OCTET_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(room-kernels PRIVATE -Wno-pass-failed)
endif()
