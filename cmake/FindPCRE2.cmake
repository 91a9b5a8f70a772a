# Finds PCRE2's library of 8-bit code units and its header and defines the target
# PCRE2::8bit: the tokenizer splits text by a regular expression over Unicode.
find_library(PCRE2_LIBRARY NAMES pcre2-8)
find_path(PCRE2_INCLUDE_DIR NAMES pcre2.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PCRE2 REQUIRED_VARS PCRE2_LIBRARY PCRE2_INCLUDE_DIR)
if(PCRE2_FOUND AND NOT TARGET PCRE2::8bit)
  add_library(PCRE2::8bit UNKNOWN IMPORTED)
  set_target_properties(PCRE2::8bit PROPERTIES
    IMPORTED_LOCATION ${PCRE2_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${PCRE2_INCLUDE_DIR})
endif()
