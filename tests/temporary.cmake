# temporary.cmake - gives each test a temporary folder of its own (TMPDIR) and, run by ctest as a script before and after
# the tests, empties these folders. Afterwards it fails if a test has left anything. Every folder with tests calls
# rapt_temporary() at its end.
function(rapt_temporary)
    get_property(here DIRECTORY PROPERTY TESTS)
    foreach(name ${here})
        string(REPLACE "/" "_" folder ${name})
        file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/tests/tmp/${folder})
        set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT TMPDIR=${PROJECT_BINARY_DIR}/tests/tmp/${folder})
        set_property(TEST ${name} APPEND PROPERTY FIXTURES_REQUIRED temporary)
    endforeach()
endfunction()

# Adds the tests that run before and after all others.
function(rapt_check_temporary)
    set(script ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
    add_test(NAME temporary/emptied COMMAND ${CMAKE_COMMAND} -DTMP=${PROJECT_BINARY_DIR}/tests/tmp -P ${script})
    add_test(NAME temporary/nothing_left
             COMMAND ${CMAKE_COMMAND} -DTMP=${PROJECT_BINARY_DIR}/tests/tmp -DCHECK=ON -P ${script})
    set_tests_properties(temporary/emptied PROPERTIES FIXTURES_SETUP temporary)
    set_tests_properties(temporary/nothing_left PROPERTIES FIXTURES_CLEANUP temporary)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
    file(GLOB left LIST_DIRECTORIES true RELATIVE ${TMP} ${TMP}/*/* ${TMP}/*/.*)
    list(FILTER left EXCLUDE REGEX "/[.][.]?$")
    list(REMOVE_DUPLICATES left)
    foreach(name ${left})
        file(REMOVE_RECURSE ${TMP}/${name})
    endforeach()
    if(CHECK AND left)
        list(JOIN left "\n" lines)
        message(FATAL_ERROR "tests have left files in their temporary folders:\n${lines}")
    endif()
endif()
