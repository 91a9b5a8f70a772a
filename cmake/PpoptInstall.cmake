# Defines the install tree and the package that find_package(ppopt) reads.
include(CMakePackageConfigHelpers)

install(TARGETS ppopt_runtime EXPORT ppoptTargets ARCHIVE DESTINATION lib)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/ DESTINATION include
        FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/tools/maps DESTINATION share/ppopt)
install(EXPORT ppoptTargets NAMESPACE ppopt:: DESTINATION lib/cmake/ppopt)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ppoptConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/ppoptConfig.cmake INSTALL_DESTINATION lib/cmake/ppopt)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/ppoptConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/ppoptConfig.cmake
              ${PROJECT_BINARY_DIR}/cmake/ppoptConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindOneDNN.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindPCRE2.cmake
        DESTINATION lib/cmake/ppopt)
