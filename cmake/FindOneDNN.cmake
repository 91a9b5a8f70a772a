# Finds oneDNN's library and header and defines the target OneDNN::dnnl.
#
# oneDNN's own dnnl-config.cmake is not used: if the library was built with a GPU
# engine, as Debian's is, it requires the development files of OpenCL, which
# nothing here needs.
find_library(OneDNN_LIBRARY NAMES dnnl)
find_path(OneDNN_INCLUDE_DIR NAMES oneapi/dnnl/dnnl.hpp)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR)
if(OneDNN_FOUND AND NOT TARGET OneDNN::dnnl)
  add_library(OneDNN::dnnl UNKNOWN IMPORTED)
  set_target_properties(OneDNN::dnnl PROPERTIES
    IMPORTED_LOCATION ${OneDNN_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${OneDNN_INCLUDE_DIR})
endif()
