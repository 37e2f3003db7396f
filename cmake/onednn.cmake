# DNNL::dnnl, of a version and a kind that kernels/cpu knows.
include(${CMAKE_CURRENT_LIST_DIR}/header_version.cmake)

# octet_check_onednn(INCLUDE_FOLDER): one sentence on what is the matter with the oneDNN whose headers are there, and the end.
function(octet_check_onednn folder)
  set(wanted "Octet needs 2.6 or newer, below 4, built for OpenMP (DNNL_CPU_RUNTIME=OMP); name another with \
-DDNNL_INCLUDE_DIR=FOLDER -DDNNL_LIBRARY=FILE")
  octet_header_version(version ${folder}/oneapi/dnnl/dnnl_version.h DNNL_VERSION_MAJOR DNNL_VERSION_MINOR DNNL_VERSION_PATCH)
  if(version VERSION_LESS 2.6 OR NOT version VERSION_LESS 4)
    message(FATAL_ERROR "The oneDNN in ${folder} is ${version}: ${wanted}")
  endif()
  # Attention multiplies in each of its own threads by itself (OneThreadProducts), which it says to OpenMP.
  file(STRINGS ${folder}/oneapi/dnnl/dnnl_config.h runtime REGEX "^#define DNNL_CPU_THREADING_RUNTIME ")
  if(NOT runtime MATCHES "DNNL_RUNTIME_OMP")
    string(REGEX REPLACE ".*DNNL_RUNTIME_" "" runtime "${runtime}")
    message(FATAL_ERROR "The oneDNN in ${folder} has its threads from ${runtime}: ${wanted}")
  endif()
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)  # tests/checks/onednn_test.sh
  return()
endif()

# Not by its CMake package: Debian's asks for OpenCL headers that nothing here needs.
octet_library(DNNL DNNL::dnnl oneapi/dnnl/dnnl.hpp dnnl)
octet_check_onednn(${DNNL_INCLUDE_DIR})
