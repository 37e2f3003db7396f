# What comes with Octet is found in the source tree, or beside an installed program.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/base/installation.cpp PROPERTIES
  COMPILE_DEFINITIONS "OCTET_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
