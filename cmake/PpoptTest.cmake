# ppopt_add_unit_test(NAME source... [LINK target...])
#   adds a GoogleTest program; each of its tests is a CTest test, run by
#   tools/check. Does nothing if PPOPT_BUILD_TESTS is off.
include(GoogleTest)
if(PPOPT_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()

function(ppopt_add_unit_test name)
  if(NOT PPOPT_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gtest_main)
  ppopt_reuse_headers(${name} TestHeaders)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/unit)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 120)
endfunction()
