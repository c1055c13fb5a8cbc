# What `cmake --install` and `cpack -G DEB` put where. Man pages are made from the tools' own --help.

set(FUSEFLOW_DOC_DIR ${CMAKE_INSTALL_DATADIR}/doc/fuseflow)

install(DIRECTORY machines DESTINATION ${CMAKE_INSTALL_DATADIR}/fuseflow FILES_MATCHING PATTERN "*.toml"
        PATTERN "measured" EXCLUDE)
install(DIRECTORY ir-spec docs DESTINATION ${FUSEFLOW_DOC_DIR})
install(FILES README.md CHANGELOG.md CITATION.cff DESTINATION ${FUSEFLOW_DOC_DIR})
install(FILES LICENSE DESTINATION ${FUSEFLOW_DOC_DIR} RENAME copyright)
# The demo's model, graph and PyTorch's own result; what the tutorial's scripts make. The build tree has them at the
# same place below build/, for `fuseflow examples`.
set(examples testdata/karate.adj.mtx testdata/models/gcn_karate.onnx testdata/models/gcn_karate/x.mtx
             testdata/models/gcn_karate/y.npy scripts/explore.slurm)
install(FILES ${examples} DESTINATION ${FUSEFLOW_DOC_DIR}/examples)
install(PROGRAMS scripts/demo_run DESTINATION ${FUSEFLOW_DOC_DIR}/examples)
install(DIRECTORY testdata/tutorial DESTINATION ${FUSEFLOW_DOC_DIR}/examples)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/doc/fuseflow/examples)
foreach(example IN LISTS examples ITEMS scripts/demo_run testdata/tutorial)
  cmake_path(GET example FILENAME name)
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${example} ${CMAKE_BINARY_DIR}/share/doc/fuseflow/examples/${name} SYMBOLIC)
endforeach()
get_property(tools GLOBAL PROPERTY FUSEFLOW_TOOLS)
# A tool that needs a large library is a package of its own (fuseflow_tool(... ONLY_IF)); all else is one package.
get_property(optional GLOBAL PROPERTY FUSEFLOW_OPTIONAL_TOOLS)
function(fuseflow_component tool result)
  string(REPLACE "fuseflow-" "" name ${tool})
  if(name IN_LIST optional)
    set(${result} ${name} PARENT_SCOPE)
  else()
    set(${result} Unspecified PARENT_SCOPE)
  endif()
endfunction()

# bash loads the file that is called like the command.
install(FILES packaging/fuseflow.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME fuseflow)
foreach(tool IN LISTS tools)
  if(NOT tool STREQUAL fuseflow)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/completions)
    file(CREATE_LINK fuseflow ${CMAKE_BINARY_DIR}/completions/${tool} SYMBOLIC)
    fuseflow_component(${tool} component)
    install(FILES ${CMAKE_BINARY_DIR}/completions/${tool}
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT ${component})
  endif()
endforeach()
install(FILES packaging/_fuseflow DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)

set(pages)
foreach(tool IN LISTS tools)
  set(page ${CMAKE_BINARY_DIR}/man/${tool}.1)
  add_custom_command(
    OUTPUT ${page}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
    COMMAND ${CMAKE_SOURCE_DIR}/packaging/man_page $<TARGET_FILE:${tool}> ${PROJECT_VERSION} > ${page}
    DEPENDS ${tool} ${CMAKE_SOURCE_DIR}/packaging/man_page
    COMMENT "Man page of ${tool}")
  list(APPEND pages ${page})
  fuseflow_component(${tool} component)
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${component})
endforeach()
add_custom_target(man ALL DEPENDS ${pages})
add_dependencies(tools man)  # `scripts/build any tools` is enough to install

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fuseflow)
set(CPACK_PACKAGE_VENDOR "fuseflow")
set(CPACK_PACKAGE_CONTACT "The fuseflow maintainers <maintainers@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
    "Compiler and cycle-accurate simulator for sparse machine learning on dataflow machines")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS graphviz)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "make, python3-torch, python3-onnx")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_OUTPUT_FILE_PREFIX ${CMAKE_BINARY_DIR}/packages)
if(optional)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENTS_ALL Unspecified ${optional})
  set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME fuseflow)
  foreach(tool IN LISTS optional)
    string(TOUPPER ${tool} upper)
    set(CPACK_DEBIAN_${upper}_PACKAGE_NAME fuseflow-${tool})
    set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "fuseflow (= ${PROJECT_VERSION})")
    set(CPACK_COMPONENT_${upper}_DESCRIPTION "fuseflow-${tool}, which needs a library that the other tools do not")
  endforeach()
endif()
include(CPack)
