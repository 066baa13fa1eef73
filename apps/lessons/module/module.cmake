# module.cmake - compiles the part of the library that a page needs to WebAssembly if clang, lld, wasi-libc and the
# builtins of clang are installed (on Debian: clang lld wasi-libc libclang-rt-dev-wasm32). Sets `module_simd` and
# `module_plain` to the compressed files, with and without vectors, or to "" if tools are missing. Pages then show only
# the sentences that were computed when they were written.
set(module_simd "")
set(module_plain "")
find_program(RAPT_WASM_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
find_program(RAPT_GZIP gzip)
mark_as_advanced(RAPT_WASM_CLANG RAPT_GZIP)
set(folder ${CMAKE_CURRENT_SOURCE_DIR}/lessons/module)
set(wasm ${RAPT_WASM_CLANG} --target=wasm32-wasi -std=c11 -Os -D_WASI_EMULATED_MMAN -I${PROJECT_SOURCE_DIR}/include
    -mexec-model=reactor -Wl,--gc-sections -Wl,--strip-all)
set(wasm_libraries -lwasi-emulated-mman -lm)
if(RAPT_WASM_CLANG AND RAPT_GZIP AND NOT RAPT_WASM_WORKS) # missing packages may have been installed since the last try
    set(trial ${CMAKE_CURRENT_BINARY_DIR}/wasm_trial)
    file(WRITE ${trial}.c "#include <math.h>\n#include <sys/mman.h>\nfloat f(float x) { return expf(x); }\n")
    execute_process(COMMAND ${wasm} ${trial}.c ${wasm_libraries} -o ${trial}.wasm
                    RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(status EQUAL 0)
        set(RAPT_WASM_WORKS TRUE CACHE INTERNAL "clang compiles and links for wasm32-wasi")
    endif()
endif()
if(NOT RAPT_WASM_WORKS)
    message(STATUS "no clang with lld and wasi-libc: pages of lessons cannot translate their readers' sentences")
    return()
endif()

set(lib ${PROJECT_SOURCE_DIR}/lib)
file(GLOB_RECURSE wasm_sources CONFIGURE_DEPENDS ${lib}/*.h ${PROJECT_SOURCE_DIR}/include/*.h ${lib}/base/*.c
     ${lib}/kernel/*.c ${lib}/op/*.c ${lib}/attention/*.c ${lib}/model/*.c ${lib}/generate/*.c)
foreach(kind simd plain)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/lessons_${kind})
    set(module_${kind} ${file}.wasm.gz)
    add_custom_command(OUTPUT ${module_${kind}}
        COMMAND sh ${folder}/library.sh ${PROJECT_SOURCE_DIR} ${file}.o ${RAPT_WASM_CLANG}
                $<IF:$<STREQUAL:${kind},simd>,-msimd128,-Os>
        COMMAND ${wasm} ${folder}/module.c ${file}.o ${wasm_libraries} -o ${file}.wasm
        COMMAND ${RAPT_GZIP} -9nf ${file}.wasm
        DEPENDS ${folder}/module.c ${folder}/pthread.h ${folder}/library.sh ${wasm_sources} ${lib}/text/shortlist.c
                ${lib}/format/posix/read.c
        COMMENT "Compiling the library for pages to WebAssembly (${kind})" VERBATIM)
endforeach()
