# Profiles and job script bodies are found in the source tree, or in the share folder beside an installed program.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/cluster/share_folder.cpp PROPERTIES
  COMPILE_DEFINITIONS "OCTET_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/slurm DESTINATION share/octet USE_SOURCE_PERMISSIONS)
