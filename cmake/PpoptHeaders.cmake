# Precompiled headers, which the presets for sanitizers build without: sources
# include what they use.
#
# ppopt_precompile(TARGET HEADER)
#   adds an object library whose object is HEADER precompiled. Its options and
#   definitions must be those of the code that it is for.
# ppopt_reuse_headers(NAME TARGET [PLAIN source...])
#   compiles the sources of the target NAME with the headers that TARGET has
#   precompiled, except those in PLAIN, which need not be compiled again when the
#   headers change.
#
# Not CMake's target_precompile_headers: its absolute paths make a compiler cache
# miss in every other clone.

function(ppopt_precompile name header)
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
    return()
  endif()
  add_library(${name} OBJECT ${header})
  set_source_files_properties(${header} PROPERTIES LANGUAGE CXX)
  # A compiler cache compares contents, not times.
  target_compile_options(${name} PRIVATE
    "SHELL:-x c++-header" -fpch-instantiate-templates "SHELL:-Xclang -fno-pch-timestamp")
  set_target_properties(${name} PROPERTIES
    PPOPT_PCH ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/${header}.o)
endfunction()

function(ppopt_reuse_headers name from)
  cmake_parse_arguments(arg "" "" "PLAIN" ${ARGN})
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
    return()
  endif()
  get_target_property(file ${from} PPOPT_PCH)
  file(RELATIVE_PATH pch ${CMAKE_BINARY_DIR} ${file})
  # Ninja runs compilers in the build folder, and knows from which headers this is
  # made. A compiler cache may have made it in another clone: clang must not look
  # there whether headers are still the same.
  add_dependencies(${name} ${from})
  get_target_property(sources ${name} SOURCES)
  list(FILTER sources EXCLUDE REGEX "TARGET_OBJECTS")
  foreach(source ${arg_PLAIN})
    list(FILTER sources EXCLUDE REGEX "(^|/)${source}$")
  endforeach()
  set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS ${file})
  set_property(SOURCE ${sources} APPEND_STRING PROPERTY COMPILE_FLAGS
    " -include-pch ${pch} -Winvalid-pch -Xclang -fno-pch-timestamp -Xclang -fno-validate-pch")
endfunction()
