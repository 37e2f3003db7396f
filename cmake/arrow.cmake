# Arrow's C++ libraries, by which Parquet is read: what jobs/install-arrow.sh fetched, or an installation that
# OCTET_ARROW_FOLDER names (with include/ and libarrow.so, libparquet.so in it or in lib/).
set(OCTET_ARROW_FOLDER "${PROJECT_SOURCE_DIR}/build/arrow" CACHE PATH "Where Arrow's headers and libraries are")

unset(OCTET_HAS_ARROW)
set(OCTET_ARROW_LIBRARY "")
if(NOT OCTET_ARROW STREQUAL "OFF")
  find_path(ARROW_INCLUDE_DIR parquet/column_reader.h PATHS ${OCTET_ARROW_FOLDER}/include NO_DEFAULT_PATH)
  find_library(ARROW_LIBRARY arrow PATHS ${OCTET_ARROW_FOLDER} ${OCTET_ARROW_FOLDER}/lib NO_DEFAULT_PATH)
  find_library(PARQUET_LIBRARY parquet PATHS ${OCTET_ARROW_FOLDER} ${OCTET_ARROW_FOLDER}/lib NO_DEFAULT_PATH)
  if(ARROW_INCLUDE_DIR AND ARROW_LIBRARY AND PARQUET_LIBRARY)
    set(OCTET_HAS_ARROW ON)
    set(OCTET_ARROW_LIBRARY Arrow::parquet)
    add_library(Arrow::arrow UNKNOWN IMPORTED)
    set_target_properties(Arrow::arrow PROPERTIES IMPORTED_LOCATION ${ARROW_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${ARROW_INCLUDE_DIR})
    add_library(Arrow::parquet UNKNOWN IMPORTED)
    set_target_properties(Arrow::parquet PROPERTIES IMPORTED_LOCATION ${PARQUET_LIBRARY} INTERFACE_LINK_LIBRARIES Arrow::arrow)
    # build/arrow is in the tree of the sources, whose folders CMake leaves out of an installed program's path.
    get_filename_component(folder ${PARQUET_LIBRARY} DIRECTORY)
    target_link_options(Arrow::parquet INTERFACE LINKER:-rpath,${folder})
  elseif(OCTET_ARROW STREQUAL "ON")
    message(FATAL_ERROR "OCTET_ARROW=ON: Arrow is not in ${OCTET_ARROW_FOLDER}; jobs/install-arrow.sh puts it into build/arrow, "
      "or name its folder in -DOCTET_ARROW_FOLDER=...")
  endif()
endif()
if(OCTET_HAS_ARROW)
  message(STATUS "Octet: Parquet by ${PARQUET_LIBRARY}")
endif()
