# debian.cmake - run by cpack before it makes a package of the installed files. Adds what Debian's policy asks for: the
# license as "copyright", a change log, compressed manual pages.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
    return()
endif()
set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}/share)
set(doc ${share}/doc/${CPACK_PACKAGE_NAME})
file(RENAME ${doc}/LICENSE ${doc}/copyright)

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # that of SOURCE_DATE_EPOCH if it is set
file(WRITE ${doc}/changelog "${CPACK_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * The changes of each version are in include/README.md of the source.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
find_program(GZIP gzip REQUIRED)
file(GLOB pages ${share}/man/man*/*[0-9])
execute_process(COMMAND ${GZIP} -9n ${doc}/changelog ${pages} RESULT_VARIABLE failed)
if(failed)
    message(FATAL_ERROR "gzip cannot compress the manual pages in ${share}/man")
endif()
