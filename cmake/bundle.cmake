# The target `bundle`: one relocatable tarball of the installation and the private libraries that it needs.
# Included last: it installs programs of other folders.
foreach(program octet-test-gpu octet-bench-gpu octet-test-nccl)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME OPTIONAL)  # where it was built
    list(APPEND bundled ${program})
  endif()
endforeach()

list(LENGTH bundled count)
if(count LESS 3)
  add_custom_target(bundle
    COMMAND ${CMAKE_COMMAND} -E echo "bundle: it holds octet-test-gpu, octet-bench-gpu and octet-test-nccl, which this build has not: \
configure with the preset cuda and with OCTET_TESTS=ON (jobs/install-packages.sh --tests, jobs/install-cuda.sh)"
    COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
  return()
endif()

set(bundle ${CMAKE_BINARY_DIR}/octet-${PROJECT_VERSION}-linux-x86_64.tar.xz)
add_custom_target(bundle
  COMMAND ${PROJECT_SOURCE_DIR}/jobs/make-bundle.sh ${CMAKE_BINARY_DIR} ${PROJECT_VERSION} ${MPIEXEC_EXECUTABLE} ${bundle}
  COMMENT "Packing ${bundle}" VERBATIM USES_TERMINAL)
add_dependencies(bundle octet octet-train octet-evaluate octet-commbench ${bundled})
