# octet-fuzz-ROOM: readers of a room under libFuzzer, which clang has; tests/fuzz/run.py runs them.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  foreach(room base data tokenizer corpus checkpoints cluster tuning report train evaluate)
    add_executable(octet-fuzz-${room} EXCLUDE_FROM_ALL fuzz/main.cpp fuzz/${room}.cpp)
    target_link_libraries(octet-fuzz-${room} PRIVATE room-${room})
    target_compile_options(octet-fuzz-${room} PRIVATE -fsanitize=fuzzer-no-link)
    target_compile_definitions(octet-fuzz-${room} PRIVATE OCTET_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
      $<$<BOOL:${OCTET_HAS_ARROW}>:OCTET_HAS_ARROW>)
    target_link_options(octet-fuzz-${room} PRIVATE -fsanitize=fuzzer)
  endforeach()
endif()
