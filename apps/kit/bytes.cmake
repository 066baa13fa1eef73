# bytes.cmake - writes files as C arrays of bytes, since C limits the length of a string literal:
# cmake -D HEADER=corpus/corpus.h -D OUT=corpus_bytes.c -P bytes.cmake NAME=FILE...
# HEADER declares each array, const unsigned char NAME[], and its size, const size_t NAME_count, which is 0 if FILE is
# empty or not given. FILE may be several files, separated by commas: their bytes are joined. A 0 follows the bytes, since C has no arrays of size 0.
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
