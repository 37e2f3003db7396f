# The model files are found in the source tree, or in the share folder beside an installed program (model_file.h).
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/train/options/model_file.cpp PROPERTIES
  COMPILE_DEFINITIONS "OCTET_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/train/run/checkpointing.cpp PROPERTIES
  COMPILE_DEFINITIONS "OCTET_VERSION=\"${PROJECT_VERSION}\"")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION share/octet)
