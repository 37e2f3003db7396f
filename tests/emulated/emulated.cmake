# The tests of tests/gpu and tests/nccl on a device that a processor emulates, so that the CUDA kernels' own source is run
# where there is no GPU (docs/cuda-backend.md): octet-test-emulated, and octet-test-emulated-ranks over MPI. And the programs
# on it, which octet-test-emulated-programs runs.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR OCTET_SANITIZE)
  # It reads its threads' base address and wants -fno-extern-tls-init; sanitizers do not know its fibers.
  set(no_emulation "it is for x86-64 with gcc and without sanitizers")
else()
  if(POLICY CMP0167)
    cmake_policy(SET CMP0167 NEW)
  endif()
  find_package(Boost 1.74 COMPONENTS context)
  if(NOT TARGET Boost::context)
    set(no_emulation "no Boost.Context: libboost-context-dev")
  endif()
endif()
if(no_emulation)
  add_custom_target(octet-test-emulated COMMENT "octet-test-emulated is left out: ${no_emulation}")
  add_custom_target(octet-test-emulated-checked DEPENDS octet-test-emulated)
  add_custom_target(octet-test-emulated-ranks DEPENDS octet-test-emulated)
  add_custom_target(octet-test-emulated-ranks-checked DEPENDS octet-test-emulated)
  add_custom_target(octet-test-emulated-programs DEPENDS octet-test-emulated)
  return()
endif()
find_program(OCTET_PYTHON python3 REQUIRED)

set(emulated ${CMAKE_CURRENT_SOURCE_DIR}/emulated)
file(GLOB_RECURSE kernels CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/kernels/cuda/*.cu)
list(APPEND kernels tests/emulated/rules_test.cu tests/emulated/accesses_test.cu
  tests/emulated/stream_races_test.cu)
foreach(kernel ${kernels})
  set(host ${CMAKE_BINARY_DIR}/emulated/${kernel}.cpp)
  cmake_path(GET host PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${host}
    COMMAND ${OCTET_PYTHON} ${emulated}/to_host.py ${PROJECT_SOURCE_DIR}/${kernel} ${host}
    DEPENDS ${PROJECT_SOURCE_DIR}/${kernel} ${emulated}/to_host.py)
  list(APPEND checked_hosts ${host})
  if(NOT kernel MATCHES "accesses_test|stream_races_test")  # of the checks themselves
    list(APPEND hosts ${host})
  endif()
endforeach()
add_custom_target(octet-emulated-sources DEPENDS ${checked_hosts})

function(octet_emulated_kernels name files)
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${files})
  add_dependencies(${name} octet-emulated-sources)
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  target_include_directories(${name} BEFORE PRIVATE ${emulated}/include)
  target_link_libraries(${name} PRIVATE octet-flags fmt::fmt octet-cuda)
  target_compile_options(${name} PRIVATE -O2 -fno-strict-aliasing -include ${emulated}/prelude.h
    -fsanitize=alignment,bounds -fno-sanitize-recover=all  # as a GPU, which refuses an address that is not aligned
    -fno-extern-tls-init  # shared memory has no initial value
    -Wno-unknown-pragmas ${ARGN})
endfunction()
octet_emulated_kernels(octet-emulated-kernels "${hosts}")
# Each access is a call, of the checks in checks/ and not of that sanitizer's library. Lines for what they say.
octet_emulated_kernels(octet-emulated-kernels-checked "${checked_hosts}" -fsanitize=thread
  --param=tsan-instrument-func-entry-exit=0 --param=tsan-distinguish-volatile=1 -Wno-tsan -g1)

# A program of tests on the emulated device: the objects of one for GPUs, with the device in place of CUDA.
file(GLOB device CONFIGURE_DEPENDS ${emulated}/*.cpp ${emulated}/checks/*.cpp)
set(nccl ${emulated}/nccl.cpp ${emulated}/nccl_calls.cpp ${emulated}/nccl_launches.cpp)
list(REMOVE_ITEM device ${nccl})
add_library(octet-emulated-begin OBJECT ${emulated}/marks/first_variable.cpp)
add_library(octet-emulated-end OBJECT ${emulated}/marks/last_variable.cpp)
foreach(mark begin end)
  target_link_libraries(octet-emulated-${mark} PRIVATE octet-flags)
endforeach()
add_library(octet-emulated-device OBJECT ${device})
target_link_libraries(octet-emulated-device PRIVATE octet-flags fmt::fmt octet-cuda Boost::context GTest::gtest DNNL::dnnl)
function(octet_emulated_test name of kernels)
  add_executable(${name} ${ARGN} $<TARGET_OBJECTS:${of}> $<TARGET_OBJECTS:octet-emulated-device>
    $<TARGET_OBJECTS:octet-emulated-begin> $<TARGET_OBJECTS:${kernels}> $<TARGET_OBJECTS:octet-emulated-end>)
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  target_link_libraries(${name} PRIVATE octet-flags room-train octet-cuda Boost::context DNNL::dnnl GTest::gtest)
  target_link_options(${name} PRIVATE -fsanitize=alignment,bounds)
endfunction()

octet_emulated_test(octet-test-emulated octet-test-gpu octet-emulated-kernels)
octet_emulated_test(octet-test-emulated-checked octet-test-gpu octet-emulated-kernels-checked)
set_target_properties(octet-test-emulated-checked PROPERTIES EXCLUDE_FROM_ALL ON)  # most of its tests take half an hour
foreach(program octet-test-emulated octet-test-emulated-checked)
  target_link_libraries(${program} PRIVATE GTest::gtest_main)
endforeach()
octet_emulated_test(octet-test-emulated-ranks octet-test-nccl octet-emulated-kernels ${nccl}
  ${emulated}/ranks/nccl_launches_test.cpp)
octet_emulated_test(octet-test-emulated-ranks-checked octet-test-nccl octet-emulated-kernels-checked ${nccl}
  ${emulated}/ranks/nccl_launches_test.cpp ${emulated}/ranks/nccl_races_test.cpp)
set_target_properties(octet-test-emulated-ranks-checked PROPERTIES EXCLUDE_FROM_ALL ON)

# The programs on it, with their own names in a folder of their own, for scripts that take one (jobs/gpu, $OCTET_BIN).
add_custom_target(octet-emulated-programs)
function(octet_emulated_program target name kernels folder)
  octet_emulated_test(${target} ${name} ${kernels} ${nccl})
  get_target_property(libraries ${name} LINK_LIBRARIES)
  target_link_libraries(${target} PRIVATE ${libraries})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder}/bin)
endfunction()
foreach(program octet octet-train octet-evaluate octet-commbench)
  octet_emulated_program(${program}-emulated ${program} octet-emulated-kernels emulated)
  add_dependencies(octet-emulated-programs ${program}-emulated)
endforeach()
# Training with each access checked, for runs by hand.
octet_emulated_program(octet-train-emulated-checked octet-train octet-emulated-kernels-checked emulated-checked)
set_target_properties(octet-train-emulated-checked PROPERTIES EXCLUDE_FROM_ALL ON)

file(GLOB runs CONFIGURE_DEPENDS ${emulated}/programs/*_test.cpp)
add_executable(octet-test-emulated-programs ${runs})
target_link_libraries(octet-test-emulated-programs PRIVATE octet-flags room-data room-checkpoints
  nlohmann_json::nlohmann_json GTest::gtest_main)
target_compile_definitions(octet-test-emulated-programs PRIVATE OCTET_BIN_DIR="${CMAKE_BINARY_DIR}/emulated/bin")
octet_plain(octet-test-emulated-programs)
add_dependencies(octet-test-emulated-programs octet-emulated-programs)
