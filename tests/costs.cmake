# costs.cmake - the approximate seconds that the longest tests take. ctest starts those first, so that no long test runs
# at the end by itself. Every folder with tests calls rapt_costs() at its end.
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
