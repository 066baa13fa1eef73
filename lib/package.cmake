# Packages of what cmake --install installs: cpack -G DEB, cpack -G TGZ.
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME rapt)
set(CPACK_PACKAGE_CONTACT "the rapt authors <rapt@localhost>") # who builds a package to give away puts a name here
set(CPACK_PACKAGE_DESCRIPTION "rapt computes every attention of the literature, forward and backward, trains \
attention-only Transformers and runs them: in C, with no other language and no GPU. This package has the library, \
its headers and the program toy_translate.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libopenblas0-openmp) # loaded when a trainer asks for it
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(DPKG_SHLIBDEPS)
if(DPKG_SHLIBDEPS)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)
