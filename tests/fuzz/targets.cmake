# octet-fuzz-ROOM: readers of a room under libFuzzer, which clang has; tests/fuzz/run.py runs them.
if(OCTET_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "OCTET_FUZZ is ON and the compiler is ${CMAKE_CXX_COMPILER_ID}, which has no libFuzzer: cmake --preset fuzz takes clang")
  endif()
  set_source_files_properties(fuzz/main.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)  # a batch has one target's name
  foreach(room base data tokenizer corpus checkpoints cluster tuning topology report run_config evaluate)
    add_executable(octet-fuzz-${room} EXCLUDE_FROM_ALL fuzz/main.cpp fuzz/${room}.cpp)
    target_link_libraries(octet-fuzz-${room} PRIVATE room-${room})
    target_compile_options(octet-fuzz-${room} PRIVATE -fsanitize=fuzzer-no-link)
    target_compile_definitions(octet-fuzz-${room} PRIVATE OCTET_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
      $<$<BOOL:${OCTET_HAS_ARROW}>:OCTET_HAS_ARROW>)
    target_link_options(octet-fuzz-${room} PRIVATE -fsanitize=fuzzer)
  endforeach()
endif()
