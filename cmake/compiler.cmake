# Flags that every room shares.
add_library(octet-flags INTERFACE)
target_include_directories(octet-flags INTERFACE ${PROJECT_SOURCE_DIR})
# One OpenMP run time a process. Debian's libdnnl wants libgomp; under clang our code wants libomp, which also exports,
# with the same symbol versions, the six GOMP_ and omp_ functions that libdnnl calls. As a direct dependency libomp comes
# before the libgomp that libdnnl brings, so libdnnl's calls go to libomp and there is one pool of threads. It stays so
# as long as nothing here links libgomp by name; LD_DEBUG=bindings shows it.
target_link_libraries(octet-flags INTERFACE OpenMP::OpenMP_CXX Threads::Threads)
target_compile_options(octet-flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  # A type of a source may use what stands in its anonymous namespace, and a local name may be that of something in a
  # header which the source does not include; in a batch gcc takes the source for a header, and sees all headers.
  $<$<AND:$<BOOL:${OCTET_UNITY}>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage;-Wno-shadow;-Wshadow=local>
  $<$<AND:$<BOOL:${OCTET_UNITY}>,$<CXX_COMPILER_ID:Clang>>:-Wno-shadow>
  # gcc 13 and newer take a reference for one to a temporary wherever the function that returns it was given one.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-Wno-dangling-reference>
  $<$<BOOL:${OCTET_WERROR}>:-Werror>
  # Contraction would let a compiler change the bits of scales, casts and initial weights;
  # kernels that want fused multiply-add ask for it (kernels/room.cmake).
  -ffp-contract=off
  # Both free of any effect on values; without them gcc keeps branches around float operations and vectorises less.
  -fno-math-errno
  -fno-trapping-math>)

set(machine none)  # what this one has
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(cpu_flags)
  if(EXISTS /proc/cpuinfo)
    file(STRINGS /proc/cpuinfo cpu_flags REGEX "^flags" LIMIT_COUNT 1)
  endif()
  separate_arguments(cpu_flags)
  # What glibc wants of them, by the kernel's names.
  set(machine x86-64-v4)
  foreach(flag avx512f avx512bw avx512cd avx512dq avx512vl)
    if(NOT flag IN_LIST cpu_flags)
      set(machine x86-64-v3)
    endif()
  endforeach()
  foreach(flag avx avx2 bmi1 bmi2 f16c fma abm movbe)
    if(NOT flag IN_LIST cpu_flags)
      set(machine none)
    endif()
  endforeach()
endif()
set(arch ${OCTET_CPU_ARCH})
if(arch STREQUAL "auto")
  set(arch ${machine})
endif()
if(NOT arch STREQUAL "none")
  target_compile_options(octet-flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=${arch}>)
  if(arch STREQUAL "x86-64-v4")
    target_compile_options(octet-flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-mprefer-vector-width=512>)
  endif()
endif()
# A processor that lacks instructions of a program would end it by SIGILL somewhere. Where the program says which level it
# is compiled for, the dynamic linker refuses it at the start (docs/problems.md, "The processor is too old").
set(level ${arch})
if(arch STREQUAL "native")
  set(level ${machine})
endif()
if(level MATCHES "^x86-64-v[234]$")
  include(CheckLinkerFlag)
  string(REPLACE "-" "_" marks OCTET_LINKER_MARKS_${level})
  check_linker_flag(CXX LINKER:-z,${level},--fatal-warnings ${marks})  # lld only warns that it does not know it
  if(${marks})
    target_link_options(octet-flags INTERFACE LINKER:-z,${level})
  endif()
endif()
set(OCTET_RESOLVED_ARCH ${arch})
message(STATUS "Octet: -march=${arch}")

if(OCTET_SANITIZE)
  target_compile_options(octet-flags INTERFACE -fsanitize=${OCTET_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(octet-flags INTERFACE -fsanitize=${OCTET_SANITIZE})
  # Clang compares types of functions by where their descriptions lie, which differs between libraries.
  target_compile_options(octet-flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  if(OCTET_SANITIZE MATCHES "address")  # as gcc defines it
    target_compile_definitions(octet-flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:__SANITIZE_ADDRESS__=1>)
  endif()
endif()
