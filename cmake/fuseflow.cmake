# What every target of the project shares: warnings, sanitizers, ccache, and the helpers that make
# a library (fuseflow_library), an executable tool (fuseflow_tool) and a unit test (fuseflow_test).

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # The sloppiness is what ccache asks for where headers are precompiled; no source uses __DATE__ or __TIME__.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()

add_library(fuseflow_options INTERFACE)
target_include_directories(fuseflow_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(fuseflow_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                                  -Wno-sign-conversion -Wnon-virtual-dtor
                                                  # g++ 12 reports these for inlined std::string code that is right
                                                  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-restrict>)
# The compiler collects its garbage when it holds half a GiB, not an eighth: a tenth less processor time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(fuseflow_options INTERFACE "SHELL:--param ggc-min-expand=400"
                                                    "SHELL:--param ggc-min-heapsize=524288")
endif()
if(FUSEFLOW_FIRST_BUILD)  # ... and these where more is inlined
  target_compile_options(fuseflow_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow;-Wno-array-bounds>)
endif()
if(FUSEFLOW_WERROR)
  target_compile_options(fuseflow_options INTERFACE -Werror)
endif()
if(FUSEFLOW_FUZZ)
  target_compile_options(fuseflow_options INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(fuseflow_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(FUSEFLOW_SANITIZE)
  target_compile_options(fuseflow_options INTERFACE -fsanitize=${FUSEFLOW_SANITIZE} -fno-omit-frame-pointer
                                                    -fno-sanitize-recover=all)
  target_link_options(fuseflow_options INTERFACE -fsanitize=${FUSEFLOW_SANITIZE})
  # At a fixed address: without the relocations of its tables of globals a tool starts in half the time.
  if(FUSEFLOW_SANITIZE MATCHES "address")
    target_link_options(fuseflow_options INTERFACE -no-pie)
  endif()
endif()

# fuseflow_searches(TARGET): an executable that makes and drops many small graphs. It allocates with jemalloc, which
# takes a third less time for them; the simulator's large arrays take less memory from the C library's heap
# (support/heap.h). Sanitizers bring an allocator of their own.
if(NOT FUSEFLOW_SANITIZE)
  find_library(FUSEFLOW_JEMALLOC jemalloc REQUIRED)
endif()
function(fuseflow_searches target)
  if(FUSEFLOW_JEMALLOC)
    target_link_libraries(${target} PRIVATE ${FUSEFLOW_JEMALLOC})
  endif()
endfunction()

# fuseflow_library(NAME [OTHER_FLAGS] [QUICKLY] [TOGETHER n] [FOLDERS folder...] [LIBS dependency...]): every .cpp of
# src/NAME and of the folders in it, or of exactly these folders of src, as fuseflow_NAME. So a new operator or pass is
# one new file. OTHER_FLAGS: compiled with other flags than most, which precompiled headers do not allow. QUICKLY: reads
# or writes; what searches, simulates or computes takes the time. TOGETHER: how many sources are compiled together, if
# not FUSEFLOW_TOGETHER.
function(fuseflow_library name)
  cmake_parse_arguments(ARG "OTHER_FLAGS;QUICKLY" "TOGETHER" "FOLDERS;LIBS" ${ARGN})
  if(NOT ARG_TOGETHER)
    set(ARG_TOGETHER ${FUSEFLOW_TOGETHER})
  endif()
  if(ARG_FOLDERS)
    list(TRANSFORM ARG_FOLDERS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    list(TRANSFORM ARG_FOLDERS APPEND /*.cpp OUTPUT_VARIABLE patterns)
    file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  else()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  endif()
  add_library(fuseflow_${name} STATIC ${sources})
  target_link_libraries(fuseflow_${name} PUBLIC fuseflow_options ${ARG_LIBS})
  if(ARG_OTHER_FLAGS)
    fuseflow_compile_together(fuseflow_${name} ${ARG_TOGETHER})
  elseif(ARG_QUICKLY)
    fuseflow_build_quickly(fuseflow_${name})
    fuseflow_compile_together(fuseflow_${name} ${ARG_TOGETHER} fuseflow_quick_headers)
  else()
    fuseflow_compile_together(fuseflow_${name} ${ARG_TOGETHER} fuseflow_headers)
  endif()
endfunction()

# Readers, writers, mains and unit tests: optimising them fully only costs build time.
function(fuseflow_build_quickly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

add_custom_target(tools COMMENT "All executables of tools/")

# fuseflow_tool(NAME DOES [SEARCHES] [LIBS library...] [MAIN file] [ONLY_IF variable MISSING text]): tools/fuseflow-NAME.cpp,
# or MAIN, as an installed executable; DOES stands beside it in `fuseflow --help`. SEARCHES: fuseflow_searches. ONLY_IF: the tool
# is listed, but built only where the variable is true, and packaged by itself (fuseflow-NAME). MISSING: what `fuseflow
# NAME` says where it is not there.
function(fuseflow_tool name does)
  cmake_parse_arguments(ARG "SEARCHES" "MAIN;ONLY_IF;MISSING" "LIBS" ${ARGN})
  set_property(GLOBAL APPEND_STRING PROPERTY FUSEFLOW_TOOL_ROWS "{\"${name}\", \"${does}\", \"${ARG_MISSING}\"},\n")
  if(ARG_ONLY_IF AND NOT ${ARG_ONLY_IF})
    return()
  endif()
  set(component Unspecified)
  if(ARG_ONLY_IF)
    set(component ${name})
    set_property(GLOBAL APPEND PROPERTY FUSEFLOW_OPTIONAL_TOOLS ${name})
  endif()
  if(NOT ARG_MAIN)
    set(ARG_MAIN fuseflow-${name}.cpp)
  endif()
  add_executable(fuseflow-${name} ${ARG_MAIN})
  target_link_libraries(fuseflow-${name} PRIVATE ${ARG_LIBS} fuseflow_shell)
  set_target_properties(fuseflow-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  fuseflow_build_quickly(fuseflow-${name})
  fuseflow_use_precompiled(fuseflow-${name} fuseflow_quick_headers)
  if(ARG_SEARCHES)
    fuseflow_searches(fuseflow-${name})
  endif()
  add_dependencies(tools fuseflow-${name})
  set_property(GLOBAL APPEND PROPERTY FUSEFLOW_TOOLS fuseflow-${name})
  install(TARGETS fuseflow-${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component})
endfunction()

# fuseflow_pass_tool(NAME DOES): the pass NAME of src/passes as a tool; its main is made from tools/pass_main.cpp.in.
function(fuseflow_pass_tool NAME does)
  set(main ${CMAKE_BINARY_DIR}/generated/tools/fuseflow-${NAME}.cpp)
  configure_file(pass_main.cpp.in ${main} @ONLY)
  fuseflow_tool(${NAME} "${does}" SEARCHES MAIN ${main} LIBS fuseflow_pass_tools)
endfunction()

# fuseflow_test(NAME [LIBS library...] [TABLE suite]): tests/unit/NAME_test.cpp (or NAME_*_test.cpp) as one test
# program. Each of its tests is a ctest entry unit.NAME.SUITE.TEST, found when ctest starts; but a TABLE, a suite of
# many cases that come from elsewhere, is one entry.
function(fuseflow_test name)
  cmake_parse_arguments(ARG "" "TABLE" "LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/unit/${name}_test.cpp
       ${CMAKE_CURRENT_SOURCE_DIR}/unit/${name}_*_test.cpp)
  add_executable(${name}_test ${sources})
  target_link_libraries(${name}_test PRIVATE ${ARG_LIBS} fuseflow_source_dir fmt::fmt GTest::gtest_main)
  fuseflow_build_quickly(${name}_test)
  fuseflow_compile_together(${name}_test 10 fuseflow_test_headers)
  if(ARG_TABLE)
    add_test(NAME unit.${name}.${ARG_TABLE} COMMAND ${name}_test --gtest_filter=*${ARG_TABLE}.*)
    set_tests_properties(unit.${name}.${ARG_TABLE} PROPERTIES SKIP_REGULAR_EXPRESSION "\\] 0 tests from 0 test suites ran")
    set(filter TEST_FILTER -*${ARG_TABLE}.*)
  endif()
  gtest_discover_tests(${name}_test TEST_PREFIX unit.${name}. ${filter} NO_PRETTY_VALUES
                       DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120)
endfunction()

# fuseflow_property(NAME SOURCE... [LIBS library...]): a property test; it has fuseflow_random and what that uses.
function(fuseflow_property name)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE fuseflow_random ${ARG_LIBS})
  fuseflow_build_quickly(${name})
  fuseflow_use_precompiled(${name} fuseflow_quick_headers)
endfunction()
