# What is chosen in a build, and what is refused of it. It is read before `project`, so that a refusal comes at once, and
# tests/checks/options_test.sh runs it by itself.
if(CMAKE_BINARY_DIR STREQUAL CMAKE_SOURCE_DIR AND NOT CMAKE_SCRIPT_MODE_FILE)
  message(FATAL_ERROR "A build has a folder of its own: cmake --preset cpu, or cmake -B build. "
    "Remove CMakeCache.txt and CMakeFiles, which this call has left beside the sources")
endif()

# As `cmake -B build` leaves it, nothing would be optimised, and training would take many times as long.
get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT CMAKE_BUILD_TYPE AND "$ENV{CMAKE_BUILD_TYPE}" STREQUAL "" AND NOT is_multi_config)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
  message(STATUS "Octet: no CMAKE_BUILD_TYPE, so it is Release")
endif()

option(OCTET_WERROR "Treat warnings as errors (on in CI)" OFF)
option(OCTET_TESTS "Build the tests" ON)
set(OCTET_UNITY 0 CACHE STRING "Sources of a target that are compiled as one: less to compile from nothing, more after a change (0: each by itself)")
set(OCTET_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined")
option(OCTET_FUZZ "Programs of readers under libFuzzer, with clang (the preset fuzz)" OFF)
set(OCTET_CPU_ARCH "auto" CACHE STRING
    "-march of the whole program: x86-64-v3, x86-64-v4, native, none; auto picks one of them for this machine")
set(OCTET_CUDA "OFF" CACHE STRING "CUDA backend: ON, OFF")
set(OCTET_CUDA_ARCHITECTURES "80-real;90a-real;100-real" CACHE STRING "GPU architectures of the CUDA backend")
set(OCTET_ARROW "AUTO" CACHE STRING "Read Parquet, by Arrow: ON, OFF, AUTO (where it is found)")

# octet_switch(OPTION [WORD]): what CMake takes for true or false becomes ON or OFF; WORD stays, and all else is refused.
macro(octet_switch option)
  string(TOUPPER "${${option}}" word)
  if(word MATCHES "^(1|ON|YES|TRUE|Y)$")
    set(${option} ON)
  elseif(word MATCHES "^(0|OFF|NO|FALSE|N)$")
    set(${option} OFF)
  elseif("${word}" STREQUAL "${ARGN}")
    set(${option} ${word})
  else()
    set(expected ON OFF ${ARGN})
    list(JOIN expected ", " expected)
    message(FATAL_ERROR "${option} is '${${option}}', expected one of ${expected}")
  endif()
endmacro()
octet_switch(OCTET_CUDA)
octet_switch(OCTET_ARROW AUTO)

# Not what nvcc's environment has set (CUDAARCHS), which some do for every project.
if(DEFINED CACHE{CMAKE_CUDA_ARCHITECTURES})
  message(FATAL_ERROR "Octet takes the architectures of GPUs from -DOCTET_CUDA_ARCHITECTURES='${CMAKE_CUDA_ARCHITECTURES}', \
and not from CMAKE_CUDA_ARCHITECTURES (cmake -UCMAKE_CUDA_ARCHITECTURES takes it back)")
endif()
