# Finds libxsmm's code generator, which generates the kernels for blocks of
# matmuls, and defines the target Libxsmm::generator: a static library, without
# libxsmm's dispatcher and its optional BLAS.
find_library(Libxsmm_GENERATOR_LIBRARY NAMES xsmmgen)
find_path(Libxsmm_INCLUDE_DIR NAMES libxsmm_generator.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libxsmm REQUIRED_VARS Libxsmm_GENERATOR_LIBRARY Libxsmm_INCLUDE_DIR)
if(Libxsmm_FOUND AND NOT TARGET Libxsmm::generator)
  add_library(Libxsmm::generator STATIC IMPORTED)
  set_target_properties(Libxsmm::generator PROPERTIES
    IMPORTED_LOCATION ${Libxsmm_GENERATOR_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${Libxsmm_INCLUDE_DIR})
endif()
