# octet_light(TARGET): it decides, reads options and writes reports. What takes time is in other targets, so -O1 loses
# nothing, and is compiled in two thirds of the time of -O3.
function(octet_light target)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
endfunction()

# octet_plain(TARGET): a test. It waits for what it tests; without optimisation it is compiled in two thirds of the time of
# -O1, and under sanitizers, whose checks are the same, in half of it.
function(octet_plain target)
  set(where $<CONFIG:Release>)
  if(OCTET_SANITIZE)
    set(where 1)
  endif()
  target_compile_options(${target} PRIVATE $<$<AND:${where},$<COMPILE_LANGUAGE:CXX>>:-O0>)
endfunction()

# octet_room(NAME [LIGHT] LIBRARIES ... [BACKEND LIBRARY...]): a static library room-NAME from every .cpp of the room's
# folder (src/NAME, or NAME at the top level), which is all that a new file needs in order to be built. LIGHT: octet_light.
# BACKEND: what not every build has, and only the sources in cuda/, nccl/ or arrow/ see.
function(octet_room name)
  cmake_parse_arguments(ROOM "LIGHT" "" "LIBRARIES;BACKEND" ${ARGN})
  set(folder ${PROJECT_SOURCE_DIR}/src/${name})
  if(NOT EXISTS ${folder})
    set(folder ${PROJECT_SOURCE_DIR}/${name})
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${folder} ${folder}/*.cpp ${folder}/*.cu)
  # A room's CUDA backend stands in its folder cuda/ or nccl/, what takes its place without CUDA in no_cuda/ or no_nccl/.
  # So do arrow/ and no_arrow/.
  if(OCTET_CUDA)
    list(FILTER sources EXCLUDE REGEX "(^|/)no_(cuda|nccl)/")
  else()
    list(FILTER sources EXCLUDE REGEX "(^|/)(cuda|nccl)/")
  endif()
  if(OCTET_HAS_ARROW)
    list(FILTER sources EXCLUDE REGEX "(^|/)no_arrow/")
  else()
    list(FILTER sources EXCLUDE REGEX "(^|/)arrow/")
  endif()
  set(backend ${sources})
  list(FILTER backend INCLUDE REGEX "(^|/)(no_)?(cuda|nccl|arrow)/")
  list(FILTER sources EXCLUDE REGEX "(^|/)(no_)?(cuda|nccl|arrow)/")
  list(TRANSFORM sources PREPEND ${folder}/)
  list(TRANSFORM backend PREPEND ${folder}/)
  if(NOT sources)  # a room of headers only
    add_library(room-${name} INTERFACE)
    target_link_libraries(room-${name} INTERFACE octet-flags ${ROOM_LIBRARIES})
    return()
  endif()
  add_library(room-${name} STATIC ${sources})
  target_link_libraries(room-${name} PUBLIC octet-flags ${ROOM_LIBRARIES})
  if(ROOM_LIGHT)
    octet_light(room-${name})
  endif()
  # A target of their own: all other sources are compiled alike with and without these libraries, and ccache keeps them once.
  if(backend)
    add_library(room-${name}-backend OBJECT ${backend})
    target_link_libraries(room-${name}-backend PRIVATE octet-flags ${ROOM_LIBRARIES} ${ROOM_BACKEND})
    target_sources(room-${name} PRIVATE $<TARGET_OBJECTS:room-${name}-backend>)
    list(TRANSFORM ROOM_BACKEND REPLACE "^.+$" "$<LINK_ONLY:\\0>")
    target_link_libraries(room-${name} INTERFACE ${ROOM_BACKEND})
  endif()
  # libFuzzer finds its way through a reader by counters in its code (tests/fuzz).
  if(OCTET_FUZZ AND name MATCHES "^(base|data|tokenizer|corpus|metrics|checkpoints|cluster|owner|report|run_config|topology|tuning)$")
    target_compile_options(room-${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(EXISTS ${folder}/room.cmake)
    include(${folder}/room.cmake)
  endif()
endfunction()
