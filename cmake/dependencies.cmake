# Everything comes from packages of Debian (jobs/install-packages.sh lists them; docs/systems.md says which versions).
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)
if(POLICY CMP0167)  # newer CMake asks whether Boost's own package is meant
  cmake_policy(SET CMP0167 NEW)
endif()
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)
find_package(nlohmann_json REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(MPI REQUIRED COMPONENTS CXX)
find_package(Threads REQUIRED)
find_package(pugixml REQUIRED)

include(cmake/onednn.cmake)

# The serial library by its own names: Debian has an MPI build beside it, which find_package may prefer.
find_path(HDF5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial REQUIRED)
find_library(HDF5_LIBRARY NAMES hdf5_serial hdf5 REQUIRED)
add_library(HDF5::serial UNKNOWN IMPORTED)
set_target_properties(HDF5::serial PROPERTIES IMPORTED_LOCATION ${HDF5_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${HDF5_INCLUDE_DIR})

find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_library(XXHASH_LIBRARY xxhash REQUIRED)
add_library(xxHash::xxhash UNKNOWN IMPORTED)
set_target_properties(xxHash::xxhash PROPERTIES IMPORTED_LOCATION ${XXHASH_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${XXHASH_INCLUDE_DIR})

find_path(PCRE2_INCLUDE_DIR pcre2.h REQUIRED)
find_library(PCRE2_LIBRARY pcre2-8 REQUIRED)
add_library(pcre2::pcre2 UNKNOWN IMPORTED)
set_target_properties(pcre2::pcre2 PROPERTIES IMPORTED_LOCATION ${PCRE2_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${PCRE2_INCLUDE_DIR})

find_path(SENTENCEPIECE_INCLUDE_DIR sentencepiece_processor.h REQUIRED)
find_library(SENTENCEPIECE_LIBRARY sentencepiece REQUIRED)
add_library(sentencepiece::sentencepiece UNKNOWN IMPORTED)
set_target_properties(sentencepiece::sentencepiece PROPERTIES
  IMPORTED_LOCATION ${SENTENCEPIECE_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${SENTENCEPIECE_INCLUDE_DIR})

find_package(ZLIB REQUIRED)
find_package(simdjson REQUIRED)
find_path(ZSTD_INCLUDE_DIR zstd.h REQUIRED)
find_library(ZSTD_LIBRARY zstd REQUIRED)
add_library(zstd::zstd UNKNOWN IMPORTED)
set_target_properties(zstd::zstd PROPERTIES IMPORTED_LOCATION ${ZSTD_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${ZSTD_INCLUDE_DIR})

find_path(HWLOC_INCLUDE_DIR hwloc.h REQUIRED)
find_library(HWLOC_LIBRARY hwloc REQUIRED)
add_library(hwloc::hwloc UNKNOWN IMPORTED)
set_target_properties(hwloc::hwloc PROPERTIES IMPORTED_LOCATION ${HWLOC_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${HWLOC_INCLUDE_DIR})
# SimGrid has no CMake package.
find_path(SIMGRID_INCLUDE_DIR simgrid/s4u.hpp REQUIRED)
find_library(SIMGRID_LIBRARY simgrid REQUIRED)
add_library(SimGrid::simgrid UNKNOWN IMPORTED)
set_target_properties(SimGrid::simgrid PROPERTIES IMPORTED_LOCATION ${SIMGRID_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${SIMGRID_INCLUDE_DIR})
