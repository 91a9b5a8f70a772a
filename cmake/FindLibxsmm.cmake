# Finds libxsmm, whose small products our blocks of products are made of, and
# defines the target Libxsmm::xsmm. It is a static library; its optional BLAS is
# replaced by the library that refuses to be called.
find_library(Libxsmm_LIBRARY NAMES xsmm)
find_library(Libxsmm_NOBLAS_LIBRARY NAMES xsmmnoblas)
find_path(Libxsmm_INCLUDE_DIR NAMES libxsmm.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libxsmm REQUIRED_VARS Libxsmm_LIBRARY Libxsmm_NOBLAS_LIBRARY Libxsmm_INCLUDE_DIR)
if(Libxsmm_FOUND AND NOT TARGET Libxsmm::xsmm)
  add_library(Libxsmm::xsmm STATIC IMPORTED)
  set_target_properties(Libxsmm::xsmm PROPERTIES
    IMPORTED_LOCATION ${Libxsmm_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${Libxsmm_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES "${Libxsmm_NOBLAS_LIBRARY};m;${CMAKE_DL_LIBS}")
endif()
