# Finds PCRE2's header and its static library for 8-bit code units, and defines
# the target PCRE2::8bit: the tokenizer splits text by a regular expression over
# Unicode.
find_library(PCRE2_STATIC_LIBRARY NAMES libpcre2-8.a)
find_path(PCRE2_INCLUDE_DIR NAMES pcre2.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PCRE2 REQUIRED_VARS PCRE2_STATIC_LIBRARY PCRE2_INCLUDE_DIR)
if(PCRE2_FOUND AND NOT TARGET PCRE2::8bit)
  add_library(PCRE2::8bit STATIC IMPORTED)
  set_target_properties(PCRE2::8bit PROPERTIES
    IMPORTED_LOCATION ${PCRE2_STATIC_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${PCRE2_INCLUDE_DIR})
endif()
