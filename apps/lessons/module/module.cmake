# module.cmake - compiles the part of the library that a page needs to WebAssembly if clang, lld, wasi-libc and the
# builtins of clang are installed (on Debian: clang lld wasi-libc libclang-rt-dev-wasm32). Sets `module` to the file, or
# to "" if they are missing. Pages then show only the sentences that were computed when they were written.
set(module "")
find_program(RAPT_WASM_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
mark_as_advanced(RAPT_WASM_CLANG)
set(folder ${CMAKE_CURRENT_SOURCE_DIR}/lessons/module)
set(wasm ${RAPT_WASM_CLANG} --target=wasm32-wasi -std=c11 -Os -ffp-contract=off -ffunction-sections -fdata-sections
    -Wno-unknown-pragmas -D_WASI_EMULATED_MMAN
    -I${folder} -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/lib)
set(wasm_link -mexec-model=reactor -Wl,--gc-sections -Wl,--strip-all)
set(wasm_libraries -lwasi-emulated-mman -lm)
if(RAPT_WASM_CLANG AND NOT RAPT_WASM_WORKS) # missing packages may have been installed since the last try
    set(trial ${CMAKE_CURRENT_BINARY_DIR}/wasm_trial)
    file(WRITE ${trial}.c "#include <math.h>\n#include <sys/mman.h>\nfloat f(float x) { return expf(x); }\n")
    execute_process(COMMAND ${wasm} ${wasm_link} ${trial}.c ${wasm_libraries} -o ${trial}.wasm
                    RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(status EQUAL 0)
        set(RAPT_WASM_WORKS TRUE CACHE INTERNAL "clang compiles and links for wasm32-wasi")
    endif()
endif()
if(RAPT_WASM_CLANG AND RAPT_WASM_WORKS)
    set(module ${CMAKE_CURRENT_BINARY_DIR}/lessons.wasm)
else()
    message(STATUS "no clang with lld and wasi-libc: pages of lessons cannot translate their readers' sentences")
    return()
endif()

set(lib ${PROJECT_SOURCE_DIR}/lib)
file(GLOB wasm_sources CONFIGURE_DEPENDS ${lib}/base/*.c ${lib}/op/*.c ${lib}/attention/*.c ${lib}/attention/*/*.c
     ${lib}/model/*.c ${lib}/generate/*.c)
list(FILTER wasm_sources EXCLUDE REGEX "/sleef_fallback[.]c$")
list(APPEND wasm_sources ${lib}/kernel/choose.c ${lib}/kernel/bf16_choose.c ${lib}/kernel/int8_choose.c
     ${lib}/text/shortlist.c ${lib}/format/posix/read.c)
file(GLOB_RECURSE wasm_headers CONFIGURE_DEPENDS ${lib}/*.h ${PROJECT_SOURCE_DIR}/include/*.h ${lib}/kernel/*.c)
set(table ${CMAKE_CURRENT_BINARY_DIR}/wasm_table)
set(scalar -DRAPT_SIMD_HEADER="simd_scalar.h")
add_custom_command(OUTPUT ${module}
    COMMAND ${wasm} ${scalar} -DRAPT_ISA=scalar -c ${lib}/kernel/table.c -o ${table}.o
    COMMAND ${wasm} ${scalar} -DRAPT_INT8=scalar "-DRAPT_INT8_HEADER=\"kernel/int8_scalar.h\""
            -c ${lib}/kernel/int8_table.c -o ${table}_int8.o
    COMMAND ${wasm} ${scalar} -DRAPT_BF16=scalar "-DRAPT_BF16_HEADER=\"kernel/bf16_emulated.h\""
            -c ${lib}/kernel/bf16_table.c -o ${table}_bf16.o
    COMMAND ${wasm} ${wasm_link} -o ${module} ${folder}/module.c ${wasm_sources} ${table}.o ${table}_int8.o
            ${table}_bf16.o ${wasm_libraries}
    DEPENDS ${folder}/module.c ${folder}/pthread.h ${folder}/module.cmake ${wasm_sources} ${wasm_headers}
    COMMENT "Compiling the library for pages to WebAssembly" VERBATIM)
