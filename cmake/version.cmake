# What --version says. OCTET_LIBRARIES_BUILT_WITH: "HDF5 1.10.8, oneDNN 2.6.3, ...", from the headers and the packages.
# octet_version(TARGET): puts the source jobs/version.cpp, which is in the target, in the know.

octet_header_version(hdf5 ${HDF5_INCLUDE_DIR}/H5public.h H5_VERS_MAJOR H5_VERS_MINOR H5_VERS_RELEASE)
octet_header_version(dnnl ${DNNL_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h DNNL_VERSION_MAJOR DNNL_VERSION_MINOR DNNL_VERSION_PATCH)
octet_header_version(xxhash ${XXHASH_INCLUDE_DIR}/xxhash.h XXH_VERSION_MAJOR XXH_VERSION_MINOR XXH_VERSION_RELEASE)
octet_header_version(pcre2 ${PCRE2_INCLUDE_DIR}/pcre2.h PCRE2_MAJOR PCRE2_MINOR)
octet_header_version(zstd ${ZSTD_INCLUDE_DIR}/zstd.h ZSTD_VERSION_MAJOR ZSTD_VERSION_MINOR ZSTD_VERSION_RELEASE)
# Its headers name no version. What its package requires of others for static programs need not be there.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  cmake_path(GET SENTENCEPIECE_LIBRARY PARENT_PATH folder)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${folder}/pkgconfig:$ENV{PKG_CONFIG_PATH}
      ${PKG_CONFIG_EXECUTABLE} --modversion sentencepiece
    OUTPUT_VARIABLE sentencepiece_VERSION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT sentencepiece_VERSION)
  set(sentencepiece_VERSION "of unknown version")
endif()
set(octet_of_texts "simdjson ${simdjson_VERSION}, zlib ${ZLIB_VERSION_STRING}, zstd ${zstd}, PCRE2 ${pcre2}, SentencePiece ${sentencepiece_VERSION}")
if(OCTET_HAS_ARROW)
  octet_header_version(arrow ${ARROW_INCLUDE_DIR}/arrow/util/config.h ARROW_VERSION_MAJOR ARROW_VERSION_MINOR ARROW_VERSION_PATCH)
  string(APPEND octet_of_texts ", Arrow ${arrow}")
endif()
set(OCTET_LIBRARIES_BUILT_WITH "HDF5 ${hdf5}, oneDNN ${dnnl}, xxHash ${xxhash}, Boost ${Boost_VERSION_STRING}, yaml-cpp ${yaml-cpp_VERSION}, fmt ${fmt_VERSION}, spdlog ${spdlog_VERSION}, nlohmann-json ${nlohmann_json_VERSION}, ${octet_of_texts}")

function(octet_version target)
  # Which commit it is may change with every build, its source only where that does.
  set(commit_source ${CMAKE_CURRENT_BINARY_DIR}/commit/octet_commit.cpp)
  add_custom_target(octet-commit BYPRODUCTS ${commit_source}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${commit_source} -P ${PROJECT_SOURCE_DIR}/cmake/commit.cmake)
  add_dependencies(${target} octet-commit)
  target_sources(${target} PRIVATE ${commit_source})
  set_source_files_properties(${commit_source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(devices "cpu")
  if(OCTET_CUDA)
    list(JOIN CMAKE_CUDA_ARCHITECTURES " " architectures)
    string(REPLACE "-real" "" architectures "${architectures}")
    set(devices "cpu, cuda (CUDA ${CUDAToolkit_VERSION}, compute capabilities ${architectures})")
  endif()
  set(sanitized)
  if(OCTET_SANITIZE)
    set(sanitized ", sanitizers ${OCTET_SANITIZE}")
  endif()
  set(built "${CMAKE_BUILD_TYPE}, ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, -march=${OCTET_RESOLVED_ARCH}${sanitized}")
  set_source_files_properties(${PROJECT_SOURCE_DIR}/jobs/version.cpp PROPERTIES COMPILE_DEFINITIONS
    "OCTET_VERSION=\"${PROJECT_VERSION}\";OCTET_DEVICES=\"${devices}\";OCTET_LIBRARIES=\"${OCTET_LIBRARIES_BUILT_WITH}\";OCTET_BUILT=\"${built}\"")
endfunction()
