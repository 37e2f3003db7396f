# octet_library(PREFIX TARGET HEADER [NAME...] [FOLDER SUFFIX] [OPTIONAL]): a library by its header and by one of its names,
# without a CMake package: where it is stands in PREFIX_INCLUDE_DIR and PREFIX_LIBRARY, which -D can name too. Without a NAME
# it is all headers; with OPTIONAL there is no TARGET where it is not found. Every name is looked for in a folder before the
# next one, so that the library is of the installation of which the header is: HDF5, for one, ends a program in which the
# two differ.
function(octet_library prefix target header)
  cmake_parse_arguments(LIBRARY "OPTIONAL" "FOLDER" "" ${ARGN})
  set(required REQUIRED)
  if(LIBRARY_OPTIONAL)
    set(required)
  endif()
  find_path(${prefix}_INCLUDE_DIR ${header} PATH_SUFFIXES ${LIBRARY_FOLDER} ${required})
  if(LIBRARY_UNPARSED_ARGUMENTS)
    find_library(${prefix}_LIBRARY NAMES ${LIBRARY_UNPARSED_ARGUMENTS} NAMES_PER_DIR ${required})
  endif()
  if(NOT ${prefix}_INCLUDE_DIR OR (LIBRARY_UNPARSED_ARGUMENTS AND NOT ${prefix}_LIBRARY))
    return()
  endif()
  if(LIBRARY_UNPARSED_ARGUMENTS)
    add_library(${target} UNKNOWN IMPORTED)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${${prefix}_LIBRARY})
  else()
    add_library(${target} INTERFACE IMPORTED)
  endif()
  set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${${prefix}_INCLUDE_DIR})
endfunction()
