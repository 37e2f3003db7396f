# What takes the place of NCCL around the tuner plugin, in a folder of its own; the tests of the plugin; and many threads
# at once, without any other library of ours, for ThreadSanitizer.
add_library(octet-stand-in-nccl SHARED tuning/plugin/stand_in_nccl.cpp)
target_link_libraries(octet-stand-in-nccl PRIVATE octet-flags)
set_target_properties(octet-stand-in-nccl PROPERTIES
  OUTPUT_NAME nccl SUFFIX .so.2 LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/stand-in-nccl)

add_executable(octet-tuner-stress tuning/plugin/stress.cpp)
target_link_libraries(octet-tuner-stress PRIVATE octet-flags ${CMAKE_DL_LIBS})

# octet_uses_tuner(PROGRAM): it knows where the plugin and what stands in for NCCL are.
function(octet_uses_tuner program)
  target_compile_definitions(${program} PRIVATE OCTET_TUNER_PLUGIN="$<TARGET_FILE:nccl-tuner-octet>"
    OCTET_STAND_IN_NCCL_LIBRARY="$<TARGET_FILE:octet-stand-in-nccl>")
  add_dependencies(${program} nccl-tuner-octet octet-stand-in-nccl)
endfunction()
octet_uses_tuner(octet-test-tuning)
octet_uses_tuner(octet-tuner-stress)
