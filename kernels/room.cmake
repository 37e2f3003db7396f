# Attention has inner products of its own, where fused multiply-add is wanted.
foreach(file attention_forward attention_backward)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/kernels/cpu/${file}.cpp PROPERTIES COMPILE_OPTIONS "-ffp-contract=fast")
endforeach()
