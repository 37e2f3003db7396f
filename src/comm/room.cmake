# In whose place a test has an NCCL of its own (tests/emulated).
if(OCTET_CUDA)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/comm/nccl/nccl_api.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endif()
