# octet-test-emulated: the tests of tests/gpu on a device that a processor emulates, so that the CUDA kernels' own source
# is run where there is no GPU (docs/cuda-backend.md).
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR OCTET_SANITIZE)
  return()  # it reads its threads' base address, wants -fno-extern-tls-init, and sanitizers do not know its fibers
endif()
find_package(Boost 1.74 COMPONENTS context)
if(NOT TARGET Boost::context)
  message(STATUS "Octet: no Boost.Context (libboost-context-dev), so octet-test-emulated is left out")
  return()
endif()
find_program(OCTET_PYTHON python3 REQUIRED)

set(emulated ${CMAKE_CURRENT_SOURCE_DIR}/emulated)
file(GLOB_RECURSE kernels CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/kernels/cuda/*.cu)
list(APPEND kernels tests/emulated/rules_test.cu)
foreach(kernel ${kernels})
  set(host ${CMAKE_BINARY_DIR}/emulated/${kernel}.cpp)
  cmake_path(GET host PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${host}
    COMMAND ${OCTET_PYTHON} ${emulated}/to_host.py ${PROJECT_SOURCE_DIR}/${kernel} ${host}
    DEPENDS ${PROJECT_SOURCE_DIR}/${kernel} ${emulated}/to_host.py)
  list(APPEND hosts ${host})
endforeach()

add_library(octet-emulated-kernels OBJECT ${hosts})
set_target_properties(octet-emulated-kernels PROPERTIES UNITY_BUILD OFF)
target_include_directories(octet-emulated-kernels BEFORE PRIVATE ${emulated}/include)
target_link_libraries(octet-emulated-kernels PRIVATE octet-flags fmt::fmt octet-cuda)
target_compile_options(octet-emulated-kernels PRIVATE -O2 -fno-strict-aliasing -include ${emulated}/prelude.h
  -fsanitize=alignment,bounds -fno-sanitize-recover=all  # as a GPU, which refuses an address that is not aligned
  -fno-extern-tls-init  # shared memory has no initial value
  -Wno-unknown-pragmas)

file(GLOB runtime CONFIGURE_DEPENDS ${emulated}/*.cpp)
add_executable(octet-test-emulated ${runtime} $<TARGET_OBJECTS:octet-test-gpu> $<TARGET_OBJECTS:octet-emulated-kernels>)
set_target_properties(octet-test-emulated PROPERTIES UNITY_BUILD OFF ENABLE_EXPORTS ON)
target_link_libraries(octet-test-emulated PRIVATE octet-flags room-train octet-cuda Boost::context GTest::gtest_main DNNL::dnnl)
target_link_options(octet-test-emulated PRIVATE -fsanitize=alignment,bounds)
