# Finds what links executables.
#
# PPOPT_LINK_DRIVER  the compiler's driver
# PPOPT_LLD          lld, or empty
# PPOPT_LINKER       gold, if executables can be linked by it without the driver;
#                    with what the driver would add:
#   PPOPT_DYNAMIC_LINKER, PPOPT_START_FILES, PPOPT_SHARED_LIBRARIES, PPOPT_END_FILES

# g++ starts in a millisecond, and clang++, which loads LLVM, in 20. The runtimes of
# sanitizers are those of the compiler.
find_program(PPOPT_LINK_DRIVER g++)
if(PPOPT_SANITIZE OR NOT PPOPT_LINK_DRIVER)
  set(PPOPT_LINK_DRIVER ${CMAKE_CXX_COMPILER})
endif()
find_program(PPOPT_LLD ld.lld HINTS ${LLVM_TOOLS_BINARY_DIR})
if(NOT PPOPT_LLD)
  set(PPOPT_LLD "")
endif()

# Sets the variable to the paths of files where the driver finds them; without one of
# them, PPOPT_LINKER to empty.
function(ppopt_find_link_files variable)
  set(found "")
  foreach(name ${ARGN})
    execute_process(COMMAND ${PPOPT_LINK_DRIVER} -print-file-name=${name}
      OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT IS_ABSOLUTE "${path}")
      set(PPOPT_LINKER "" PARENT_SCOPE)
    endif()
    file(REAL_PATH "${path}/.." folder)
    list(APPEND found ${folder}/${name})
  endforeach()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# gold starts in 2 ms, and lld in 15.
find_program(PPOPT_GOLD ld.gold)
set(PPOPT_LINKER ${PPOPT_GOLD})
execute_process(COMMAND ${PPOPT_LINK_DRIVER} "-###" -pie -x c /dev/null
  OUTPUT_QUIET ERROR_VARIABLE command)
string(REGEX MATCH "-dynamic-linker\"? \"?([^ \"]+)" found "${command}")
set(PPOPT_DYNAMIC_LINKER "${CMAKE_MATCH_1}")
cmake_path(GET PPOPT_DYNAMIC_LINKER FILENAME dynamicLinker)
ppopt_find_link_files(PPOPT_START_FILES Scrt1.o crti.o crtbeginS.o)
ppopt_find_link_files(PPOPT_SHARED_LIBRARIES
  libdnnl.so libgomp.so.1 libstdc++.so libm.so.6 libgcc_s.so.1 libc.so.6 ${dynamicLinker})
ppopt_find_link_files(PPOPT_END_FILES libgcc.a libc_nonshared.a crtendS.o crtn.o)
if(NOT PPOPT_GOLD OR NOT PPOPT_LLD OR NOT PPOPT_DYNAMIC_LINKER OR PPOPT_SANITIZE)
  set(PPOPT_LINKER "")
endif()
