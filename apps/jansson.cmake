# jansson.cmake - defines the target rapt_jansson. The programs print JSON with jansson; the library does not need
# it. Without jansson, apps/ and tests/ are refused and perf/ is left out.
if(NOT RAPT_APPS AND NOT RAPT_TESTS AND NOT RAPT_PERF)
    return()
endif()
find_library(JANSSON_LIBRARY jansson)
find_path(JANSSON_INCLUDE jansson.h)
mark_as_advanced(JANSSON_LIBRARY JANSSON_INCLUDE)
if(JANSSON_LIBRARY AND JANSSON_INCLUDE)
    add_library(rapt_jansson INTERFACE)
    target_link_libraries(rapt_jansson INTERFACE ${JANSSON_LIBRARY})
    target_include_directories(rapt_jansson SYSTEM INTERFACE ${JANSSON_INCLUDE})
elseif(RAPT_APPS OR RAPT_TESTS)
    message(FATAL_ERROR "jansson is missing: apt install libjansson-dev, or configure with "
                        "-DRAPT_APPS=OFF -DRAPT_TESTS=OFF")
else()
    message(STATUS "perf/ is left out: jansson is missing (apt install libjansson-dev)")
endif()
