# libnccl-tuner-octet.so. Loaded into processes that may have another fmt, another libstdc++ and another processor: it
# links nothing but libc, shows nothing but NCCL's symbols, and is compiled for any x86-64.
add_library(nccl-tuner-octet MODULE ${folder}/plugin/plugin.cpp ${folder}/plugin/communicator_tuner.cpp
  ${folder}/plugin/nccl_version.cpp ${folder}/tuning_file.cpp ${folder}/read_tuning_file.cpp ${folder}/collective.cpp
  ${PROJECT_SOURCE_DIR}/src/base/files.cpp ${PROJECT_SOURCE_DIR}/src/base/json_reader.cpp
  ${PROJECT_SOURCE_DIR}/src/base/parse_json.cpp ${PROJECT_SOURCE_DIR}/src/base/printable.cpp
  ${PROJECT_SOURCE_DIR}/src/base/utf8_piece.cpp ${PROJECT_SOURCE_DIR}/src/base/lfs_pointer.cpp)
target_include_directories(nccl-tuner-octet PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(nccl-tuner-octet PRIVATE fmt::fmt-header-only nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS})
target_compile_options(nccl-tuner-octet PRIVATE -Wall -Wextra -Wpedantic -Wshadow $<$<BOOL:${OCTET_WERROR}>:-Werror>
  $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)  # whose symbols keep a library from being unloaded
set(exports ${folder}/plugin/exports.map)
target_link_options(nccl-tuner-octet PRIVATE -Wl,--version-script=${exports})
set_target_properties(nccl-tuner-octet PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
  LINK_DEPENDS ${exports} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
if(OCTET_SANITIZE)
  target_compile_options(nccl-tuner-octet PRIVATE -fsanitize=${OCTET_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined
    $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  target_link_options(nccl-tuner-octet PRIVATE -fsanitize=${OCTET_SANITIZE})
else()
  # What is not used of libstdc++ would ask for a newer libc than bundles may (jobs/check-symbols.sh).
  target_link_options(nccl-tuner-octet PRIVATE -static-libstdc++ -static-libgcc -Wl,-z,defs -Wl,--gc-sections)
endif()
install(TARGETS nccl-tuner-octet LIBRARY DESTINATION lib)
