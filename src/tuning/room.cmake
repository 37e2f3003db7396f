# Libraries of their own: plugin/, which NCCL loads, and contention/engine/engine.cpp, which is loaded where traffic is
# simulated.
get_target_property(sources room-tuning SOURCES)
list(FILTER sources EXCLUDE REGEX "/tuning/plugin/")
list(FILTER sources EXCLUDE REGEX "/tuning/contention/engine/engine.cpp$")
set_property(TARGET room-tuning PROPERTY SOURCES ${sources})
include(${folder}/plugin/plugin.cmake)
include(${folder}/contention/engine/engine.cmake)
