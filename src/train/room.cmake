set_source_files_properties(${PROJECT_SOURCE_DIR}/src/train/run/checkpointing.cpp PROPERTIES
  COMPILE_DEFINITIONS "OCTET_VERSION=\"${PROJECT_VERSION}\"")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION share/octet)
