# properties.cmake - gives the tests of a folder their costs and a temporary folder each. Every folder with tests calls
# rapt_temporary() at its end, and rapt_costs() if some of them are long. Run by ctest as a script, before and after all
# tests, this file empties the temporary folders; afterwards it fails if a test has left anything.

# The approximate seconds that the longest tests take. ctest starts those first, so that no long test runs at the end by
# itself.
set(costs
    cross/arm64-suite 730
    cross/s390x-suite 730
    cross/riscv64-suite 730
    cross/windows 680
    full/reproducible 630
    full/sentencepiece 420
    full/attention_errors 370
    full/exchange_marian 350
    exchange/marian_kinds 100
    full/ulp_gelu_slope 220
    full/ulp_gelu 220
    full/ulp_silu_slope 200
    full/ulp_tanh 180
    full/ulp_silu 180
    full/stream 180
    full/ulp_log 150
    full/ulp_exp2 130
    full/ulp_exp 120
    full/analyze_cppcheck 110
    full/modes 95
    full/faults 93
    full/analyze_gcc 89
    cross/arm64 80)

# Sets the costs of the tests of the current folder.
function(rapt_costs)
    get_property(here DIRECTORY PROPERTY TESTS)
    set(left ${costs})
    while(left)
        list(POP_FRONT left name seconds)
        if(name IN_LIST here)
            set_tests_properties(${name} PROPERTIES COST ${seconds})
        endif()
    endwhile()
endfunction()

# Gives each test of the current folder a temporary folder of its own (TMPDIR).
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
