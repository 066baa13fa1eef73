# The target `reference` writes HTML and man pages from the comments of the public headers to build/reference.
find_program(DOXYGEN doxygen)
find_program(PYTHON3 python3)
mark_as_advanced(DOXYGEN PYTHON3)
set(RAPT_REFERENCE ${PROJECT_BINARY_DIR}/reference)
configure_file(include/Doxyfile.in Doxyfile @ONLY)
if(DOXYGEN AND PYTHON3)
    add_custom_target(reference COMMAND ${CMAKE_COMMAND} -E make_directory ${RAPT_REFERENCE}
                      COMMAND ${DOXYGEN} ${PROJECT_BINARY_DIR}/Doxyfile
                      COMMAND ${PYTHON3} -B ${PROJECT_SOURCE_DIR}/include/reference.py --pages ${RAPT_REFERENCE}/man/man3
                      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
endif()
if(RAPT_INSTALL) # OPTIONAL: only if it was built
    include(GNUInstallDirs)
    install(DIRECTORY ${RAPT_REFERENCE}/man/man3 DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL)
    install(DIRECTORY ${RAPT_REFERENCE}/html DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
endif()
