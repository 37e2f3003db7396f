# Which commit the programs are of: run as a script at every build, `cmake -DSOURCE=... -DOUTPUT=... -P commit.cmake`; it
# writes the source OUTPUT only where that changes, so that nothing is compiled again without need.
set(commit "unknown")
find_program(GIT git)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty=-changed --abbrev=12 --exclude=*
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND found)
    set(commit ${found})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "namespace octet {\nextern const char* const built_commit;\nconst char* const built_commit = \"${commit}\";\n}  // namespace octet\n")
