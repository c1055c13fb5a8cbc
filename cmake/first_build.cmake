# What makes the first build of a clone quick: the sources of a folder compiled together, and common headers compiled
# once. Off by default, since a changed file then takes longer; on in the presets `first` and `ci`.

option(FUSEFLOW_FIRST_BUILD "Compile the sources of a folder together and common headers once" OFF)
# Larger parts take less processor time and more memory (40: 1.1 GB a part), and there must be some for every processor.
cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR together "80 / ${processors}")
if(together LESS 8)
  set(together 8)
endif()
set(FUSEFLOW_TOGETHER ${together} CACHE STRING "How many sources of a folder FUSEFLOW_FIRST_BUILD compiles together")

# fuseflow_precompiled(TARGET FLAGS_OF library... HEADERS header...): TARGET, whose precompiled headers other targets
# use that are compiled with the same flags: those that the libraries bring. ccache takes part with -fpch-preprocess
# and the settings in cmake/fuseflow.cmake.
function(fuseflow_precompiled target)
  if(NOT FUSEFLOW_FIRST_BUILD)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "FLAGS_OF;HEADERS" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${target}.cpp CONTENT "// Holds precompiled headers.\n")
  add_library(${target} OBJECT ${CMAKE_BINARY_DIR}/generated/${target}.cpp)
  target_link_libraries(${target} PRIVATE ${ARG_FLAGS_OF})
  target_precompile_headers(${target} PRIVATE ${ARG_HEADERS})
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
endfunction()

# fuseflow_compile_together(TARGET MOST [HEADERS]): the sources of TARGET are compiled some at a time, at most MOST,
# folder by folder; so unnamed namespaces must not define a name twice within a folder, or within one test program
# (tests/structure/declared_once.py), and may elsewhere. HEADERS: the target of fuseflow_precompiled() whose headers are used.
function(fuseflow_compile_together target most)
  if(NOT FUSEFLOW_FIRST_BUILD)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE path)
    cmake_path(GET path PARENT_PATH folder)
    file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${folder})
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    math(EXPR in_${folder} "0${in_${folder}} + 1")
    math(EXPR part "(${in_${folder}} - 1) / ${most}")
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${folder}_${part})
  endforeach()
  if(ARGN)
    fuseflow_use_precompiled(${target} ${ARGN})
  endif()
endfunction()

# fuseflow_use_precompiled(TARGET HEADERS): the headers alone; the sources are compiled one by one.
function(fuseflow_use_precompiled target headers)
  if(FUSEFLOW_FIRST_BUILD)
    target_precompile_headers(${target} REUSE_FROM ${headers})
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endif()
endfunction()
