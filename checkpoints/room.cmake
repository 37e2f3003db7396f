# gcc 12 takes its own AVX-512 intrinsics for uninitialized (gcc bug 105593) where xxHash is compiled in.
set_source_files_properties(${PROJECT_SOURCE_DIR}/checkpoints/format/hash.cpp PROPERTIES
  COMPILE_OPTIONS "$<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized;-Wno-maybe-uninitialized>")
