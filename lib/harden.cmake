# Hardens everything compiled and linked from here on, as far as compiler and linker support it: checked calls
# of the C library, stack canaries, tables of addresses that are read-only before main, no executable stack, no
# text relocations, programs at random addresses. tests/project/binaries.sh checks the binaries. Also makes the
# bytes independent of the build folder (tests/project/binaries.sh).
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckLinkerFlag)
include(CheckPIESupported)

check_pie_supported(OUTPUT_VARIABLE ignored LANGUAGES C)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

check_c_compiler_flag(-fstack-protector-strong HARDEN_STACK_PROTECTOR)
if(HARDEN_STACK_PROTECTOR)
    add_compile_options(-fstack-protector-strong)
endif()

# Level 3 needs __builtin_dynamic_object_size; glibc warns if it has to fall back. The checks need optimization.
set(fortify -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
check_c_source_compiles("#include <string.h>\nint main(void) { return 0; }" HARDEN_FORTIFY_3)
unset(CMAKE_REQUIRED_FLAGS)
if(NOT HARDEN_FORTIFY_3)
    set(fortify -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
add_compile_options("$<$<NOT:$<CONFIG:Debug>>:${fortify}>")

# Asserts and debugging information contain the names of folders; a release contains none.
check_c_compiler_flag(-ffile-prefix-map=a=b HARDEN_PREFIX_MAP)
if(HARDEN_PREFIX_MAP)
    foreach(folder PROJECT_SOURCE_DIR PROJECT_BINARY_DIR) # the last match wins
        add_compile_options($<$<NOT:$<CONFIG:Release>>:-ffile-prefix-map=${${folder}}=${folder}>)
    endforeach()
endif()

foreach(keyword relro now noexecstack text)
    check_linker_flag(C -Wl,-z,${keyword} HARDEN_LINK_${keyword})
    if(HARDEN_LINK_${keyword})
        add_link_options(-Wl,-z,${keyword})
    endif()
endforeach()
