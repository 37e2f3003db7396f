# The CUDA backend: built where OCTET_CUDA says so (the preset cuda does).
set(OCTET_CUDA_LIBRARY "")
if(NOT OCTET_CUDA)
  return()
endif()

# What jobs/install-cuda.sh fetched.
set(OCTET_CUDA_PACKAGES ${PROJECT_SOURCE_DIR}/build/cuda-packages)
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  # Fetched, on the PATH, in $CUDA_HOME or in /usr/local/cuda.
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/jobs/install-cuda.sh --find
    OUTPUT_VARIABLE nvcc OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE no_nvcc)
  if(no_nvcc)
    message(FATAL_ERROR "OCTET_CUDA is ON and there is no nvcc 12.9 or newer in "
      "${OCTET_CUDA_PACKAGES}/toolkit, on the PATH, in $CUDA_HOME or in /usr/local/cuda: jobs/install-cuda.sh fetches one")
  endif()
  set(CMAKE_CUDA_COMPILER ${nvcc} CACHE FILEPATH "nvcc")
endif()

# One compiler for all host code: nvcc by itself takes the first g++ of the PATH, which may be older. What is ccache by
# another name finds that one too, and nvcc has ccache before it already.
file(REAL_PATH ${CMAKE_CXX_COMPILER} host_compiler)
if(NOT CMAKE_CUDA_HOST_COMPILER AND NOT DEFINED ENV{CUDAHOSTCXX} AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
   AND NOT host_compiler MATCHES "/ccache$")
  set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
endif()
set(CMAKE_CUDA_ARCHITECTURES ${OCTET_CUDA_ARCHITECTURES})
enable_language(CUDA)
unset(CMAKE_CUDA_ARCHITECTURES CACHE)  # of CUDAARCHS; cmake/options.cmake would take it for a -D the next time
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know it
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
endif()
find_package(CUDAToolkit 12.9 REQUIRED)

set(OCTET_CUDA_LIBRARY octet-cuda)
add_library(octet-cuda INTERFACE)
# The toolkit's headers first: what was fetched beside an earlier one of another version does not go with this one.
target_include_directories(octet-cuda SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
if(EXISTS ${OCTET_CUDA_PACKAGES}/include)  # headers that the toolkit lacks
  target_include_directories(octet-cuda SYSTEM INTERFACE ${OCTET_CUDA_PACKAGES}/include)
endif()
target_compile_definitions(octet-cuda INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:FMT_USE_CONSTEXPR=1>
  $<$<COMPILE_LANGUAGE:CUDA>:FMT_CONSTEVAL=>)  # fmt 9 under nvcc: its constexpr works, its consteval does not
target_compile_options(octet-cuda INTERFACE
  $<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda --expt-relaxed-constexpr -lineinfo
    # As on the CPU: what is fused is written out.
    --fmad=false
    # A spill or a stack frame in a kernel is an error.
    -Xptxas=--warn-on-spills,--warn-on-local-memory-usage,--warning-as-error
    $<$<BOOL:${OCTET_WERROR}>:--Werror=all-warnings>
    -Xcompiler=-Wall,-Wextra,-Wno-unused-parameter>)
# The run time and the libraries are found when the program starts: one program for machines with and without a GPU.
target_link_libraries(octet-cuda INTERFACE CUDA::cudart_static)

# Collectives between GPUs.
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${OCTET_CUDA_PACKAGES}/include)
if(NOT NCCL_INCLUDE_DIR)
  message(FATAL_ERROR "The CUDA backend needs NCCL's header nccl.h. jobs/install-cuda.sh puts it into "
    "build/cuda-packages; or name its folder in -DNCCL_INCLUDE_DIR=...")
endif()
target_include_directories(octet-cuda SYSTEM INTERFACE ${NCCL_INCLUDE_DIR})

# Fused attention: headers of cuDNN and of cudnn-frontend.
find_path(CUDNN_INCLUDE_DIR cudnn.h
  HINTS ${CUDAToolkit_INCLUDE_DIRS} ${PROJECT_SOURCE_DIR}/build/cuda-packages/include)
find_path(CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h
  HINTS ${PROJECT_SOURCE_DIR}/build/cuda-packages/include ENV CUDNN_FRONTEND_INCLUDE_DIR)
if(NOT CUDNN_INCLUDE_DIR OR NOT CUDNN_FRONTEND_INCLUDE_DIR)
  message(FATAL_ERROR "The CUDA backend needs the headers of cuDNN (cudnn.h: ${CUDNN_INCLUDE_DIR}) and of cudnn-frontend "
    "(cudnn_frontend.h: ${CUDNN_FRONTEND_INCLUDE_DIR}). jobs/install-cuda.sh puts them into build/cuda-packages; or name "
    "their folders in -DCUDNN_INCLUDE_DIR=... and -DCUDNN_FRONTEND_INCLUDE_DIR=...")
endif()
