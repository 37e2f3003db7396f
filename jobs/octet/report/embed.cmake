# Makes the files of the report's page a part of `octet`: a generated report_parts.cpp, made again when one of them
# changes. Without dygraphs the program is built as well, and `octet report` says what it needs.
# Run as a script (cmake -P) with OUTPUT and the files, this writes that .cpp.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  find_path(DYGRAPHS_DIR dygraph.min.js PATHS /usr/share/javascript/dygraphs NO_DEFAULT_PATH
    DOC "Folder of dygraphs 2.2, for octet report")
  find_file(DYGRAPHS_LICENCE NAMES copyright LICENSE.txt
    PATHS /usr/share/doc/libjs-dygraphs ${DYGRAPHS_DIR} NO_DEFAULT_PATH DOC "Licence of dygraphs")
  set(folder ${CMAKE_CURRENT_LIST_DIR})
  set(parts ${folder}/page.html ${folder}/page.css ${folder}/page.js)
  if(DYGRAPHS_DIR AND DYGRAPHS_LICENCE)
    list(APPEND parts ${DYGRAPHS_DIR}/dygraph.min.js ${DYGRAPHS_DIR}/extras/synchronizer.js
      ${DYGRAPHS_DIR}/dygraph.min.css ${DYGRAPHS_LICENCE})
  else()
    message(STATUS "Octet: no dygraphs (Debian: libjs-dygraphs); octet report will ask for it")
  endif()
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/report_parts.cpp)
  add_custom_command(OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${parts}" -DOUTPUT=${generated} -P ${CMAKE_CURRENT_LIST_FILE}
    DEPENDS ${parts} ${CMAKE_CURRENT_LIST_FILE} VERBATIM)
  target_sources(octet PRIVATE ${generated})
  return()
endif()

# Bytes as numbers: no delimiter, length of a literal or character set to think of.
set(names html style script library extras library_style licence)
set(text "#include \"jobs/octet/report/report_parts.h\"\n\nnamespace octet {\nnamespace {\n\n")
foreach(name IN LISTS names)
  set(bytes "")
  if(FILES)
    list(POP_FRONT FILES file)
    file(READ ${file} bytes HEX)
    # "//# sourceMappingURL=..." and "/*# sourceMappingURL=...", at the end: the page needs no other file.
    string(REGEX REPLACE "2f2[fa]2320736f757263654d617070696e6755524c.*" "" bytes "${bytes}")
    string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  endif()
  string(APPEND text "constexpr char ${name}[] = {${bytes}0};\n")
endforeach()
string(APPEND text "\nconstexpr std::string_view text_of(const char* bytes, std::size_t size) { return {bytes, size - 1}; }\n")
string(APPEND text "\n}  // namespace\n\nconst PageParts& report_parts() {\n  static const PageParts parts{")
set(separator "")
foreach(name IN LISTS names)
  string(APPEND text "${separator}text_of(${name}, sizeof ${name})")
  set(separator ",\n                               ")
endforeach()
string(APPEND text "};\n  return parts;\n}\n\n}  // namespace octet\n")
file(WRITE ${OUTPUT} "${text}")
