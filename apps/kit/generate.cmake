# generate.cmake - writes a file of C code.
#
# cmake -D FOLDER=... -D GIT=... -D OPENMP=... -D OUT=commit.h -P generate.cmake
# writes a header with KIT_COMMIT, the commit of the repository in FOLDER (or ""), and KIT_OPENMP, the text OPENMP.
#
# cmake -D HEADER=corpus/corpus.h -D OUT=corpus_bytes.c -P generate.cmake NAME=FILE...
# writes files as arrays of bytes, since C limits the length of a string literal. HEADER declares each array, const
# unsigned char NAME[], and its size, const size_t NAME_count, which is 0 if FILE is empty or not given. FILE may be
# several files, separated by commas: their bytes are joined. A 0 follows the bytes, since C has no arrays of size 0.
if(DEFINED FOLDER)
    set(described "")
    if(GIT AND EXISTS ${FOLDER}/.git)
        execute_process(COMMAND ${GIT} rev-parse --short=12 HEAD WORKING_DIRECTORY ${FOLDER}
                        OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    endif()
    file(WRITE ${OUT} "#define KIT_COMMIT \"${described}\"\n#define KIT_OPENMP \"${OPENMP}\"\n")
    return()
endif()

set(text "#include \"${HEADER}\"\n")
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE 0 ${last})
    if(NOT CMAKE_ARGV${i} MATCHES "^([a-z_]+)=(.*)$")
        continue()
    endif()
    set(name ${CMAKE_MATCH_1})
    string(REPLACE "," ";" files "${CMAKE_MATCH_2}")
    set(bytes "")
    foreach(file ${files})
        file(READ "${file}" more HEX)
        string(APPEND bytes "${more}")
    endforeach()
    string(LENGTH "${bytes}" digits)
    math(EXPR count "${digits} / 2")
    string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND text "\nconst unsigned char ${name}[] = {\n${bytes}\n0};\nconst size_t ${name}_count = ${count};\n")
endforeach()
file(WRITE "${OUT}" "${text}")
