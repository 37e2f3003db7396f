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

include(cmake/library.cmake)
include(cmake/onednn.cmake)
# The serial library by its own names: Debian has an MPI build beside it, which find_package may prefer.
octet_library(HDF5 HDF5::serial hdf5.h hdf5_serial hdf5 FOLDER hdf5/serial)
octet_library(XXHASH xxHash::xxhash xxhash.h xxhash)
octet_library(PCRE2 pcre2::pcre2 pcre2.h pcre2-8)
octet_library(SENTENCEPIECE sentencepiece::sentencepiece sentencepiece_processor.h sentencepiece)
octet_library(ZSTD zstd::zstd zstd.h zstd)
octet_library(HWLOC hwloc::hwloc hwloc.h hwloc)
octet_library(SIMGRID SimGrid::simgrid simgrid/s4u.hpp simgrid)  # it has no CMake package
octet_library(RANDOM123 random123 Random123/philox.h)
find_package(ZLIB REQUIRED)
find_package(simdjson REQUIRED)
