# Makes manual pages and, by the target `reference`, HTML from the comments of the public headers.
find_program(DOXYGEN doxygen)
find_program(PYTHON3 python3)
mark_as_advanced(DOXYGEN PYTHON3)
set(RAPT_REFERENCE ${PROJECT_BINARY_DIR}/reference)
configure_file(include/Doxyfile.in Doxyfile @ONLY)
if(PYTHON3)
    file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/rapt/*.h)
    set(scripts ${PROJECT_SOURCE_DIR}/include/manual.py ${PROJECT_SOURCE_DIR}/include/reference.py)
    add_custom_command(OUTPUT ${RAPT_REFERENCE}/man3.made
                       COMMAND ${PYTHON3} -B ${PROJECT_SOURCE_DIR}/include/manual.py ${PROJECT_SOURCE_DIR}/include ${PROJECT_VERSION} ${RAPT_REFERENCE}/man3
                       COMMAND ${CMAKE_COMMAND} -E touch ${RAPT_REFERENCE}/man3.made
                       DEPENDS ${headers} ${scripts} VERBATIM)
    add_custom_target(manual ALL DEPENDS ${RAPT_REFERENCE}/man3.made)
endif()
if(DOXYGEN AND PYTHON3)
    add_custom_target(reference COMMAND ${CMAKE_COMMAND} -E make_directory ${RAPT_REFERENCE}
                      COMMAND ${DOXYGEN} ${PROJECT_BINARY_DIR}/Doxyfile
                      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
endif()
if(RAPT_INSTALL) # OPTIONAL: only if it was built
    include(GNUInstallDirs)
    install(DIRECTORY ${RAPT_REFERENCE}/man3 DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL)
    install(DIRECTORY ${RAPT_REFERENCE}/html DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
endif()
