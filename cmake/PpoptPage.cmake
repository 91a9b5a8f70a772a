# ppopt_page(TARGET FOLDER html css script...)
#   Compiles a page for a browser from its parts, files in FOLDER next to the
#   target's sources, into "pages/FOLDER.inc", which a source of the target
#   includes. The style and script of lib/Report/PageBase come first; scripts keep
#   their order.
function(ppopt_page target folder html css)
  set(shared ${PROJECT_SOURCE_DIR}/lib/Report/PageBase)
  set(own ${CMAKE_CURRENT_SOURCE_DIR}/${folder})
  list(TRANSFORM ARGN PREPEND ${own}/ OUTPUT_VARIABLE scripts)
  set(PPOPT_PAGE_CSS "")
  foreach(file ${shared}/base.css ${own}/${css})
    file(READ ${file} text)
    string(APPEND PPOPT_PAGE_CSS "${text}")
  endforeach()
  set(PPOPT_PAGE_JS "")
  foreach(file ${shared}/base.js ${scripts})
    file(READ ${file} text)
    string(APPEND PPOPT_PAGE_JS "${text}\n")
  endforeach()
  file(READ ${own}/${html} PPOPT_PAGE_HTML)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${shared}/base.css ${shared}/base.js ${own}/${html} ${own}/${css} ${scripts})
  configure_file(${shared}/page.inc.in ${CMAKE_CURRENT_BINARY_DIR}/pages/${folder}.inc @ONLY)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/pages)
endfunction()
