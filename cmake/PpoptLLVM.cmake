# Finds MLIR 22 and defines functions that build the compiler's libraries.
#
# ppopt_add_library(NAME source... [DEPENDS target...] [LINK target...] [PLAIN source...])
#   adds a static library of compiler code. DEPENDS: the tablegen targets that
#   must run before; LINK: other libraries of this project; PLAIN: sources that do
#   not use the dialect, so that a change of its ops does not compile them again.
#
# Each source is compiled with lib/headers.h precompiled (by the library
# PPHeaders): MLIR's headers and the dialect's take most of the time of a build.
#
# What uses MLIR or LLVM links PPLLVM and names no other library of theirs: two
# copies in a process would have two sets of MLIR's type ids and of LLVM's option
# tables.

find_package(MLIR REQUIRED CONFIG PATHS /usr/lib/llvm-22/lib/cmake/mlir)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "ppopt needs MLIR 22, but ${MLIR_DIR} is ${LLVM_PACKAGE_VERSION}: set -DMLIR_DIR")
endif()
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")

set(MLIR_LINK_MLIR_DYLIB ON)
set(LLVM_LINK_LLVM_DYLIB ON)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# From archives where they are installed: to relocate the shared libraries takes
# 20 ms of each start, and tests start ten thousand programs. Containers that a
# sanitizer marks must not meet inline functions of archives, which do not know it.
file(GLOB archives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
add_library(PPLLVM INTERFACE)
if(archives AND NOT PPOPT_SANITIZE)
  target_link_libraries(PPLLVM INTERFACE ${archives} -l:libz.so.1 -l:libzstd.so.1)
  target_link_options(PPLLVM INTERFACE LINKER:--gc-sections LINKER:-z,pack-relative-relocs)
else()
  target_link_libraries(PPLLVM INTERFACE MLIR LLVM)
endif()

# Gives a target the options that code including LLVM's headers needs.
function(ppopt_compiler_target name)
  target_include_directories(${name} PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include
    # For runtime/geometry and runtime/files, which the runtime shares.
    ${PROJECT_SOURCE_DIR}/runtime ${PROJECT_SOURCE_DIR}/runtime/include)
  target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  separate_arguments(definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  target_compile_options(${name} PRIVATE ${definitions} -fvisibility-inlines-hidden)
  if(NOT LLVM_ENABLE_RTTI)
    target_compile_options(${name} PRIVATE -fno-rtti)
  endif()
  if(NOT LLVM_ENABLE_EH)
    target_compile_options(${name} PRIVATE -fno-exceptions)
  endif()
  # ppopt spends its time in the optimised code of MLIR and LLVM: its own code is
  # compiled for a quick build.
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${name} PRIVATE -O1)
  endif()
endfunction()

# Generates the declarations of the passes in this folder's Passes.td, with a
# function register<NAME>Passes; the target is <NAME>IncGen.
function(ppopt_add_passes name)
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name ${name})
  add_public_tablegen_target(${name}IncGen)
endfunction()

function(ppopt_add_library name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LINK;PLAIN" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  ppopt_compiler_target(${name})
  ppopt_reuse_headers(${name} PPHeaders PLAIN ${arg_PLAIN})
  target_link_libraries(${name} PUBLIC ${arg_LINK} PPLLVM)
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
endfunction()
