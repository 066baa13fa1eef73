# commit.cmake - writes the header OUT with KIT_COMMIT, the commit of the repository in FOLDER (or ""), and
# KIT_OPENMP, the text OPENMP.
set(described "")
if(GIT AND EXISTS ${FOLDER}/.git)
    execute_process(COMMAND ${GIT} rev-parse --short=12 HEAD WORKING_DIRECTORY ${FOLDER}
                    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(WRITE ${OUT} "#define KIT_COMMIT \"${described}\"\n#define KIT_OPENMP \"${OPENMP}\"\n")
