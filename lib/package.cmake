# Makes packages of the files that cmake --install installs: cpack -G DEB, cpack -G TGZ.
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME rapt)
set(CPACK_PACKAGE_CONTACT "the rapt authors <rapt@example.org>") # insert your name before you distribute a package
set(CPACK_PACKAGE_DESCRIPTION "rapt computes attention, forward and backward, and trains and runs
attention-only Transformers, in C and on CPUs. This package contains the
library, its headers and the program toy_translate.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libopenblas0-openmp) # loaded when a trainer asks for it
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/lib/debian.cmake)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/triggers)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(DPKG_SHLIBDEPS)
if(DPKG_SHLIBDEPS)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)
