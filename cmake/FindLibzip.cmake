# Finds libzip's library and header and defines the target Libzip::zip.
#
# libzip's own libzip-config.cmake is not used: it requires its command-line
# tools, which Debian has in other packages.
find_library(Libzip_LIBRARY NAMES zip)
find_path(Libzip_INCLUDE_DIR NAMES zip.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libzip REQUIRED_VARS Libzip_LIBRARY Libzip_INCLUDE_DIR)
if(Libzip_FOUND AND NOT TARGET Libzip::zip)
  add_library(Libzip::zip UNKNOWN IMPORTED)
  set_target_properties(Libzip::zip PROPERTIES
    IMPORTED_LOCATION ${Libzip_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${Libzip_INCLUDE_DIR})
endif()
