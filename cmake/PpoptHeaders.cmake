# Precompiled headers, which the preset `sanitize` builds without: sources include
# what they use.
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

# A precompiled header has the paths of its clone: it is not taken from a compiler
# cache, which may have made it in a clone that is gone. What is compiled with it
# is: the cache looks at NAME.pch.sum instead (CCACHE_PCH_EXTSUM in the presets), a
# hash of the preprocessed text without these paths. It knows a precompiled header
# by its ending `.pch`, and would hash 140 MB for each source otherwise.

function(ppopt_precompile name header)
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
    return()
  endif()
  set_source_files_properties(${header} PROPERTIES LANGUAGE CXX)
  foreach(target ${name} ${name}Text)
    add_library(${target} OBJECT ${header})
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "")
  endforeach()
  target_compile_options(${name} PRIVATE
    "SHELL:-x c++-header" -fpch-instantiate-templates "SHELL:-Xclang -fno-pch-timestamp")
  target_compile_options(${name}Text PRIVATE "SHELL:-x c++" -E -P)
  set(pch ${CMAKE_CURRENT_BINARY_DIR}/${name}.pch)
  add_custom_command(OUTPUT ${pch} ${pch}.sum
    COMMAND ln -f $<TARGET_OBJECTS:${name}> ${pch}
    COMMAND sh -c "sed 's|${PROJECT_SOURCE_DIR}||g' $<TARGET_OBJECTS:${name}Text> | sha256sum > ${pch}.sum"
    DEPENDS ${name} $<TARGET_OBJECTS:${name}> ${name}Text $<TARGET_OBJECTS:${name}Text> VERBATIM)
  add_custom_target(${name}Sum DEPENDS ${pch}.sum)
  set_target_properties(${name} PROPERTIES PPOPT_PCH ${pch})
endfunction()

# Calls `command(target arguments...)` for the targets that ppopt_precompile added.
function(ppopt_configure_precompiled name command)
  foreach(target ${name} ${name}Text)
    if(TARGET ${target})
      cmake_language(CALL ${command} ${target} ${ARGN})
    endif()
  endforeach()
endfunction()

function(ppopt_reuse_headers name from)
  cmake_parse_arguments(arg "" "" "PLAIN" ${ARGN})
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
    return()
  endif()
  get_target_property(file ${from} PPOPT_PCH)
  file(RELATIVE_PATH pch ${CMAKE_BINARY_DIR} ${file})
  # Ninja knows from which headers this is made: clang need not look whether they
  # are still the same.
  add_dependencies(${name} ${from} ${from}Sum)
  get_target_property(sources ${name} SOURCES)
  list(FILTER sources EXCLUDE REGEX "TARGET_OBJECTS")
  foreach(source ${arg_PLAIN})
    list(FILTER sources EXCLUDE REGEX "(^|/)${source}$")
  endforeach()
  set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS ${file} ${file}.sum)
  set_property(SOURCE ${sources} APPEND_STRING PROPERTY COMPILE_FLAGS
    " -include-pch ${pch} -Winvalid-pch -Xclang -fno-pch-timestamp -Xclang -fno-validate-pch")
endfunction()
