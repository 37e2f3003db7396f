# Attention has inner products of its own, where fused multiply-add is wanted.
set_source_files_properties(${PROJECT_SOURCE_DIR}/kernels/cpu/attention.cpp PROPERTIES COMPILE_OPTIONS "-ffp-contract=fast")
