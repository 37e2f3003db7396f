# ccache, where there is one and no other launcher was asked for.
# Paths relative to the build: presets and clones share what they compile alike. What it says of time is of no account
# here; without that ccache keeps nothing that starts from a precompiled header. A compiler that is ccache by another name,
# as in /usr/lib/ccache, has it already: before it, ccache would not know gcc, and would find nothing of another build.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(settings ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${settings} ${CCACHE})
  file(REAL_PATH ${CMAKE_CXX_COMPILER} compiler)
  if(compiler MATCHES "/ccache$")
    set(CMAKE_CXX_COMPILER_LAUNCHER ${settings})
  endif()
  if(NOT CMAKE_CUDA_COMPILER_LAUNCHER AND NOT DEFINED ENV{CMAKE_CUDA_COMPILER_LAUNCHER})
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${settings} ${CCACHE})
  endif()
endif()
