# liboctet-flows.so, which a process of octet tune loads: the only thing that links SimGrid.
if(NOT TARGET SimGrid::simgrid)
  message(STATUS "Octet: no SimGrid (Debian: libsimgrid-dev); octet tune placement will ask for it")
  return()
endif()
add_library(octet-flows MODULE ${folder}/contention/engine/engine.cpp ${folder}/contention/traffic.cpp)
target_link_libraries(octet-flows PRIVATE octet-flags SimGrid::simgrid)
set_target_properties(octet-flows PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
install(TARGETS octet-flows LIBRARY DESTINATION lib/octet)
add_dependencies(room-tuning octet-flows)
